# Sourced by run.sh and test.sh: what Debian 12 must have, and how it gets there.
# HEARTH_BUILD_PACKAGES builds and runs; HEARTH_TEST_PACKAGES adds what the tests use.
HEARTH_BUILD_PACKAGES="g++ cmake ninja-build pkg-config git ca-certificates python3 python3-pip
    libsqlite3-dev libsqlitecpp-dev nlohmann-json3-dev libpcre2-dev
    libutf8proc-dev libcli11-dev libspdlog-dev libfmt-dev libxxhash-dev libexpected-dev
    libtomlplusplus-dev catch2
    libimgui-dev libstb-dev libglfw3-dev libgl1 libfreetype-dev libharfbuzz-dev libfribidi-dev
    libunibreak-dev libfontconfig-dev libmd4c-dev"
HEARTH_TEST_PACKAGES="clang-14 libclang-rt-14-dev clang-format-14 tmux sqlite3 strace
    libsentencepiece-dev xvfb xdotool imagemagick libgl1-mesa-dri"

step() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

# install_missing PACKAGE...: installs what dpkg does not list as installed; says what it does.
install_missing() {
    local missing="" package
    local installed
    installed=" $(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' 2>/dev/null | awk '$2 == "ii" {printf "%s ", $1}')"
    for package in "$@"; do
        case $installed in *" $package "*) ;; *) missing="$missing $package" ;; esac
    done
    # A python3 with pip that is not Debian's serves as well.
    if python3 -m pip --version >/dev/null 2>&1; then
        missing=$(printf '%s' "$missing" | sed 's/ python3-pip\b//; s/ python3\b//')
    fi
    [ -z "$missing" ] && return 0
    step "installing with apt-get:$missing"
    local sudo=""
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "error: these packages are missing and need root to install:$missing" >&2
            echo "       run as root: apt-get install -y --no-install-recommends$missing" >&2
            return 1
        fi
        sudo=sudo
    fi
    $sudo apt-get update -qq
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
