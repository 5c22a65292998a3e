# The web UI's build in dist/web.

need_web() { "$node" "$root/script/build-web.ts"; }
