#!/usr/bin/env bash
# The README's two commands in a clean root: Debian 12 (minbase) and git, as root, no standard input.
#   tools/clean_root_test.sh [--keep] FOLDER [COMMAND...]      default: "./dev demo" "./dev test"
# Needs root and debootstrap. The package mirror, pip's settings and the certificates are those of this machine. Prints every line
# with the time since its command began; the second line of times is what the README promises.
set -euo pipefail

keep=
if [[ ${1:-} == --keep ]]; then
  keep=1
  shift
fi
folder=${1:?usage: clean_root_test.sh [--keep] FOLDER [COMMAND...]}
shift
commands=("$@")
((${#commands[@]})) || commands=("./dev demo" "./dev test --times")
source_root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
if [[ -e $folder && ! $keep ]]; then
  echo "$folder exists already" >&2
  exit 2
fi

# "SITE SUITE COMPONENT" of each Debian source that apt uses here.
debian_sources() {
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | grep -E ' bookworm[a-z-]* main$' | sort -u
}

make_root() {
  local site
  site=$(debian_sources | awk '$2 == "bookworm" {print $1; exit}')
  debootstrap --variant=minbase --include=git bookworm "$folder" "$site" >"$folder.debootstrap.log"
  debian_sources | sed 's/^/deb /' >"$folder/etc/apt/sources.list"
  cp /etc/resolv.conf /etc/hosts "$folder/etc/"
  if [[ -e /etc/pip.conf ]]; then sed '/^cert *=/d' /etc/pip.conf >"$folder/etc/pip.conf"; fi
  cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/machine-certificates.crt"
  git clone -q "$source_root" "$folder/caudal"
}

# Runs one command in the root, in its own mount and process namespaces, and stamps its lines.
run_inside() {
  local start=$SECONDS line status
  set +e
  unshare --mount --pid --fork bash -c '
    mount -t proc proc "$0/proc" && mount -t sysfs sys "$0/sys" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmp "$0/tmp" &&
    exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
      PIP_CERT=/etc/machine-certificates.crt bash -c "cd /caudal && $1"' "$folder" "$1" </dev/null 2>&1 |
    while IFS= read -r line; do
      printf '%2d:%02d  %s\n' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) "$line"
    done
  status=${PIPESTATUS[0]}
  set -e
  echo "== $1: exit code $status after $((SECONDS - start)) s"
  return "$status"
}

[[ -e $folder ]] || make_root
failed=0
for command in "${commands[@]}"; do
  echo "== $command"
  run_inside "$command" || failed=1
done
[[ $keep ]] || rm -rf --one-file-system "$folder" "$folder.debootstrap.log"
exit "$failed"
