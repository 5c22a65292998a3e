# Describes how a build stage reaches package indexes from this host: certificates, proxies, mirrors.
# Read from the host's configuration each time; never part of an image.

# Writes a folder that a stage sees as /host: `env` to be sourced, and the files that it names.
describe_host() {
  mkdir -p "$1"
  : >"$1/env"
  describe_proxy >>"$1/env"
  describe_certificates "$1"
  describe_apt "$1"
  describe_pip "$1"
  describe_npm >>"$1/env"
}

describe_proxy() {
  local name
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || printf 'export %s=%q\n' "$name" "${!name}"
  done
}

describe_certificates() {
  local file
  for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt "${NODE_EXTRA_CA_CERTS:-}"; do
    [ -f "$file" ] || continue
    cat "$file" >"$1/ca.crt"
    echo 'export SSL_CERT_FILE=/host/ca.crt PIP_CERT=/host/ca.crt REQUESTS_CA_BUNDLE=/host/ca.crt CURL_CA_BUNDLE=/host/ca.crt' >>"$1/env"
    return 0
  done
}

# Mirrors of the host are used for the image's release, with the proxies and credentials that belong
# to them.
describe_apt() {
  local mirror; mirror=$(host_mirror)
  [ -n "$mirror" ] || return 0
  echo "deb [signed-by=$archive_key] $mirror $base_release main" >"$1/sources.list"
  apt-config dump 2>/dev/null | grep -iE '^Acquire::(https?::|Check-|Retries)' | grep -viE '::CA(Info|Path) ' >"$1/apt.conf" || true
  cat >>"$1/apt.conf" <<'END'
Dir::Etc::sourcelist "/host/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::netrc "/host/auth.conf";
Dir::Etc::netrcparts "/dev/null";
Acquire::https::CAInfo "/host/ca.crt";
END
  : >"$1/auth.conf"
  if [ -n "$(ls /etc/apt/auth.conf /etc/apt/auth.conf.d/*.conf 2>/dev/null)" ]; then
    as_root sh -c 'cat /etc/apt/auth.conf /etc/apt/auth.conf.d/*.conf 2>/dev/null || true' >"$1/auth.conf"
  fi
  echo 'export APT_CONFIG=/host/apt.conf' >>"$1/env"
}

# Settings of pip as files and as environment; those that name local files of the host mean nothing
# in a container.
describe_pip() {
  local name wanted='^(index-url|extra-index-url|trusted-host|proxy|timeout|default-timeout)[[:space:]]*='
  { echo '[global]'; cat /etc/pip.conf ~/.pip/pip.conf ~/.config/pip/pip.conf 2>/dev/null | grep -E "$wanted"; } >"$1/pip.conf" || true
  echo 'export PIP_CONFIG_FILE=/host/pip.conf' >>"$1/env"
  for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_PROXY PIP_DEFAULT_TIMEOUT; do
    [ -z "${!name:-}" ] || printf 'export %s=%q\n' "$name" "${!name}" >>"$1/env"
  done
}

# The registry of the host's npm; one that wants credentials is not passed on.
describe_npm() {
  local registry; registry=$(npm config get registry 2>/dev/null) || return 0
  [ -z "$registry" ] || printf 'export npm_config_registry=%q\n' "${registry%/}/"
  echo 'export NODE_EXTRA_CA_CERTS=/host/ca.crt'
}
