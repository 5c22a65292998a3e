# A login shell resets the PATH to the system's: this gives it people's own packages again, which
# pip installs into the home.
PATH=$HOME/.local/bin:$PATH
export PATH
