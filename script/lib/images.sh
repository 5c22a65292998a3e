# The images: debian:bookworm where no registry can be reached, and the samples made from images/.

base_image=debian:bookworm
base_release=bookworm
archive_key=/usr/share/keyrings/debian-archive-keyring.gpg

image_exists() { docker image inspect "$1" >/dev/null 2>&1; }

need_base_image() {
  image_exists "$base_image" && return 0
  say "Fetching $base_image"
  if "$node" "$root/script/pull.ts" "$base_image"; then return 0; fi
  say "No registry provides it; building it with debootstrap (about 40 s)"
  install_packages "${packages_base_image[@]}"
  debootstrap_base
}

# Tags the image only when it is complete. The image has Debian's own mirror, not the host's.
debootstrap_base() (
  work=$(as_root mktemp -d /var/tmp/quayside-base.XXXXXX)
  trap 'as_root rm -rf --one-file-system "$work"' EXIT
  as_root env PATH="$PATH:/usr/sbin:/sbin" debootstrap --variant=minbase "$base_release" "$work/root" "$(host_mirror)" \
    </dev/null >>"$cache/debootstrap.log" 2>&1 && pack_base "$work/root" ||
    { tail -n 20 "$cache/debootstrap.log" >&2; die "debootstrap failed; the whole log is .cache/debootstrap.log."; }
)

pack_base() {
  local mirror; mirror=$(sed -n 's/^DEF_MIRROR="\(.*\)"/\1/p' /usr/sbin/debootstrap)
  echo "deb ${mirror:-$(host_mirror)} $base_release main" | as_root tee "$1/etc/apt/sources.list" >/dev/null
  as_root sh -c "rm -rf '$1'/var/cache/apt/* '$1'/var/lib/apt/lists/* '$1'/var/log/* '$1'/etc/resolv.conf '$1'/etc/hostname"
  as_root tar -C "$1" --one-file-system -c . | docker import --change 'CMD ["bash"]' - "$base_image" >/dev/null
}

# The address from which this host gets its Debian packages; empty where its sources name none.
host_mirror() {
  have apt-get || return 0
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 !~ /security|updates|backports/ && $1 ~ /\/debian\/?$/ { print $1; exit }'
}

# Builds quayside/NAME:latest from images/NAME unless it was made from just these files.
need_image() {
  local name=$1 tag=quayside/$1:latest source
  source=$(folder_hash "$root/images/$name")
  [ "$(docker image inspect --format '{{index .Config.Labels "quayside.source"}}' "$tag" 2>/dev/null)" != "$source" ] || return 0
  say "Building $tag (log: .cache/image-$name.log)"
  build_image "$name" "$tag" "$source" || {
    tail -n 20 "$cache/image-$name.log" >&2
    die "Could not build $tag; the whole log is .cache/image-$name.log."
  }
}

# DOCKER_BUILDKIT=0 selects the builder that every engine has, with or without its plug-in. Removes
# the context and the stage that contain the host's settings.
build_image() (
  context=$(mktemp -d "${TMPDIR:-/tmp}/quayside-image.XXXXXX")
  trap 'rm -rf "$context"; forget_stages' EXIT
  cp -R "$root/images/$1/." "$context" && describe_host "$context/host" &&
    DOCKER_BUILDKIT=0 docker build --network host --force-rm --label "quayside.source=$3" --tag "$2" "$context" </dev/null >"$cache/image-$1.log" 2>&1
)

forget_stages() {
  local label
  for label in quayside.stage=build quayside.source; do
    docker image prune --force --filter "label=$label" >/dev/null 2>&1 || true
  done
}

folder_hash() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1); }
