# Installs into the build stage and gathers in /installed every file that this added or changed.
set -eu
if [ -f /host/env ]; then . /host/env; fi
touch /stamp
sleep 0.1

/opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --requirement /requirements.txt

mkdir /installed
find /opt/venv -cnewer /stamp ! -type d -print0 | tar --null --no-recursion -T - -c | tar -C /installed -x
