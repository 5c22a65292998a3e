# A login shell resets the PATH to the system's: this gives it the image's again, and people's own
# packages, which pip installs into the home.
PATH=$HOME/.local/bin:/opt/venv/bin:$PATH
export PATH
