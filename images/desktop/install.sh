# Installs into the build stage and gathers in /installed every file that this added or changed.
set -eu
if [ -f /host/env ]; then . /host/env; fi
touch /stamp
sleep 0.1

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends \
  tigervnc-standalone-server novnc websockify x11-xserver-utils dbus-x11 procps \
  xfce4-session xfwm4 xfce4-panel xfdesktop4 xfce4-settings xfce4-terminal thunar mousepad firefox-esr \
  adwaita-icon-theme gnome-themes-extra fonts-dejavu-core python3-pip
rm -rf /usr/share/doc /usr/share/man

mkdir /installed
find / -xdev -cnewer /stamp ! -type d \
  ! -path '/installed/*' ! -path '/host/*' ! -path '/tmp/*' ! -path '/var/cache/*' ! -path '/var/lib/apt/*' ! -path '/var/log/*' \
  ! -path /stamp ! -path /etc/resolv.conf ! -path /etc/hosts ! -path /etc/hostname -print0 |
  tar --null --no-recursion -T - -c | tar -C /installed -x
