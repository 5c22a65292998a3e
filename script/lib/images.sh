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

# Builds an image of images/ (quayside/NAME) or test/fixtures/images/ (quayside-test/NAME), and
# before it the one that its Dockerfile begins with, unless it was made from just these files.
need_image() {
  local name=$1 folder tag base source
  folder=$(image_folder "$name")
  tag=$(image_tag "$name")
  base=$(sed -nE 's,^FROM quayside(-test)?/([a-z0-9-]+)( AS build)?$,\2,p' "$folder/Dockerfile" | head -n 1)
  [ -z "$base" ] || need_image "$base"
  source=$(folder_hash "$folder")${base:+-$(image_source "$(image_tag "$base")" | sha256sum | cut -c1-16)}
  [ "$(image_source "$tag")" != "$source" ] || return 0
  say "Building $tag (log: .cache/image-$name.log)"
  build_image "$folder" "$tag" "$source" "$cache/image-$name.log" || {
    tail -n 20 "$cache/image-$name.log" >&2
    die "Could not build $tag; the whole log is .cache/image-$name.log."
  }
}

# Builds several at once.
need_images() {
  local name job jobs=()
  for name in "$@"; do need_image "$name" & jobs+=($!); done
  for job in "${jobs[@]}"; do wait "$job" || exit 1; done
}

# Quayside itself as an image, unless it was made from just these files.
need_own_image() (
  source=$(own_files | (cd "$root" && xargs -0 sha256sum) | sha256sum | cut -d" " -f1)
  [ "$(image_source quayside:latest)" != "$source" ] || exit 0
  say "Building quayside:latest (log: .cache/image-quayside.log)"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/quayside-own.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  own_files | tar -C "$root" --null -T - -c | tar -C "$folder" -x
  build_image "$folder" quayside:latest "$source" "$cache/image-quayside.log" || {
    tail -n 20 "$cache/image-quayside.log" >&2
    die "Could not build quayside:latest; the whole log is .cache/image-quayside.log."
  }
)

# The files that .dockerignore lets into the image's context.
own_files() {
  (cd "$root" && find Dockerfile .dockerignore .npmrc package.json package-lock.json tsconfig.json bin src script/build-web.ts script/lib/web-build.ts \
    -type f -print0 | sort -z)
}

image_folder() {
  if [ -d "$root/images/$1" ]; then echo "$root/images/$1"; else echo "$root/test/fixtures/images/$1"; fi
}

image_tag() {
  if [ -d "$root/images/$1" ]; then echo "quayside/$1:latest"; else echo "quayside-test/$1:latest"; fi
}

# The files that an image was made from; nothing if it was not made here.
image_source() { docker image inspect --format '{{index .Config.Labels "quayside.source"}}' "$1" 2>/dev/null || true; }

# DOCKER_BUILDKIT=0 selects the builder that every engine has, with or without its plug-in. Removes
# the context and the stage that contain the host's settings.
build_image() (
  context=$(mktemp -d "${TMPDIR:-/tmp}/quayside-image.XXXXXX")
  trap 'rm -rf "$context"; forget_stages "$4"' EXIT
  cp -R "$1/." "$context" && describe_host "$context/host" &&
    DOCKER_BUILDKIT=0 docker build --network host --force-rm --label "quayside.source=$3" --tag "$2" "$context" </dev/null >"$4" 2>&1
)

# Removes the stages that this log names, and images that newer ones replaced. Stages of builds that
# are still under way stay.
forget_stages() {
  docker images --quiet --filter dangling=true --filter label=quayside.stage=build |
    grep -Fx -f <(sed -nE 's/^.* ---> ([0-9a-f]{12})$/\1/p' "$1") | xargs -r docker image rm >/dev/null 2>&1 || true
  docker image prune --force --filter label=quayside.source >/dev/null 2>&1 || true
}

# Of everything but the README, which changes no image.
folder_hash() { (cd "$1" && find . -type f ! -name README.md -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d" " -f1); }
