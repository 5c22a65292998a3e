# Node and the npm packages.

need_node() {
  have node && have npm || die "Node 20.11 or newer and npm are needed; install them and run this again."
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 11) ? 0 : 1)' ||
    die "Node 20.11 or newer is needed; got $(node --version)."
}

# Installs the packages of package-lock.json, unless exactly these are installed.
need_npm_packages() {
  need_node
  if node "$root/script/lib/packages-current.mjs" && [ -x "$node" ]; then return 0; fi
  say "Installing npm packages (npm ci, log: .cache/npm.log)"
  (cd "$root" && npm ci --no-progress --fetch-timeout=60000 --fetch-retries=4 </dev/null >"$cache/npm.log" 2>&1) || {
    tail -n 20 "$cache/npm.log" >&2
    die "npm ci failed. The whole log is .cache/npm.log."
  }
  [ -x "$node" ] || (cd "$root" && npm rebuild node --ignore-scripts=false </dev/null >>"$cache/npm.log" 2>&1) || true
  [ -x "$node" ] || die "The npm package node contains no program: its install script did not run. The log is .cache/npm.log."
}
