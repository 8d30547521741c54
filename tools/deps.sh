# Debian packages, in plain bash because a fresh system has nothing else. Sourced by ./dev, which sets `root`.

# The packages of a group, one a line, optional ones with their question mark.
packages_of() {
  local group package _
  while read -r group package _; do
    [[ $group == "$1" ]] || continue
    if [[ $package == +* ]]; then packages_of "${package#+}"; else echo "$package"; fi
  done <"$root/tools/deps.txt" | sort -u
}

# Those of the packages given on standard input that are not installed.
missing_packages() {
  local package
  while read -r package; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "${package%\?}" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# Shows apt's progress (its APT::Status-Fd lines on standard input): one line rewritten on a terminal, else one every 15 s.
show_apt_progress() {
  local kind percent shown=-15 part=0 line
  local start=$SECONDS
  while IFS=: read -r kind _ percent _; do
    percent=${percent%%.*}
    # Downloading and unpacking take about the same time.
    case $kind in
      dlstatus) part=$((percent / 2)) ;;
      pmstatus) part=$((50 + percent / 2)) ;;
      *) continue ;;
    esac
    local elapsed=$((SECONDS - start))
    line=$(printf '  packages  %3d%%  %d:%02d' "$part" $((elapsed / 60)) $((elapsed % 60)))
    if ((part > 4 && elapsed > 3)); then
      local left=$((elapsed * (100 - part) / part))
      line+=$(printf ', about %d:%02d left' $((left / 60)) $((left % 60)))
    fi
    if [[ -t 1 ]]; then
      printf '\r\033[K%s' "$line"
    elif ((elapsed - shown >= 15)); then
      echo "$line"
      shown=$elapsed
    fi
  done
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
  printf '  packages  done in %d s\n' $((SECONDS - start))
}

# apt_install SUDO PACKAGE...: updates the lists and installs; SUDO is "sudo" or empty.
apt_install() {
  local sudo=$1 log
  shift
  log=$(mktemp)
  # A source that is unreachable need not matter: the install below decides.
  $sudo apt-get update -q >"$log" 2>&1 </dev/null || true
  # After an interrupted installation apt wants this first.
  $sudo dpkg --configure -a >>"$log" 2>&1 </dev/null || true
  # The progress goes to a descriptor of its own, which apt makes non-blocking; sudo passes on only the first three.
  if ! $sudo bash -c 'exec 3>&1 >>"$0" 2>&1 && DEBIAN_FRONTEND=noninteractive exec apt-get install -y --no-install-recommends \
    -o APT::Status-Fd=3 -o Dpkg::Use-Pty=0 "$@"' "$log" "$@" </dev/null | show_apt_progress; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# True where the user agrees, or cannot be asked.
agreed() {
  local answer
  [[ ${yes:-} || ${CI:-} || ! -t 0 ]] && return 0
  read -r -p "Install them with apt-get now? [Y/n] " answer
  [[ -z $answer || $answer == [yY]* ]]
}

# ensure_packages GROUP: returns when the packages are there; exits with 3 and the line to run when they cannot be had.
ensure_packages() {
  local group=$1 missing required sudo=""
  if ! command -v dpkg-query >/dev/null; then
    echo "dev: no dpkg here; going on in the hope that you have:" $(packages_of "$group") >&2
    return 0
  fi
  mapfile -t missing < <(packages_of "$group" | missing_packages)
  ((${#missing[@]})) || return 0
  mapfile -t required < <(printf '%s\n' "${missing[@]}" | grep -v '?$' || true)
  local line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]%\?}"
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      sudo=sudo
    elif ((${#required[@]})); then
      printf 'dev: packages are missing and this is not root. Run once, as root:\n\n  %s\n\n' "$line" >&2
      exit 3
    else
      echo "dev: going on without: ${missing[*]%\?}" >&2
      return 0
    fi
  fi
  echo "Debian packages needed: ${missing[*]%\?}"
  if agreed; then
    apt_install "$sudo" "${missing[@]%\?}" && return 0
    # Perhaps only an optional package could not be had.
    if ((${#required[@]} == 0)) || { ((${#required[@]} < ${#missing[@]})) && apt_install "$sudo" "${required[@]}"; }; then
      echo "dev: going on without: $(packages_of "$group" | missing_packages | tr '\n' ' ')" >&2
      return 0
    fi
  elif ((${#required[@]} == 0)); then
    return 0
  fi
  printf 'dev: not installed. The line to run as root:\n\n  %s\n\n' "$line" >&2
  exit 3
}

deps_command() {
  local group=test argument
  for argument in "$@"; do
    case $argument in
      --yes | -y) yes=1 ;;
      build | demo | test | fmt | fuzz | lint) group=$argument ;;
      *)
        echo "dev deps: no group or option '$argument'; groups: build, demo, test, fmt, fuzz, lint" >&2
        exit 2
        ;;
    esac
  done
  ensure_packages "$group"
  echo "All packages of group '$group' are there."
}
