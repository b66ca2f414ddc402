#!/usr/bin/env bash
# Everything a fresh machine needs: JDK and Maven (by apt where it may), .venv, jars. Idempotent.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

python_works() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
find_python() {
    local candidate
    for candidate in ${HIFI_PYTHON:-} python3.12 python3.11 python3.13 python3; do
        if python_works "$candidate"; then echo "$candidate"; return; fi
    done
}
java_works() {
    local java=java
    [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ] && java=$JAVA_HOME/bin/java
    local major
    major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') && [ "${major:-0}" -ge 17 ]
}
jdk_package() {
    if apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1; then echo openjdk-17-jdk-headless
    else echo default-jdk-headless; fi
}

install_packages() {
    local missing=() python=""
    [ -n "$(find_python)" ] || python=yes
    if [ -z "$python" ] && java_works && command -v mvn >/dev/null; then return; fi
    if ! command -v apt-get >/dev/null; then
        die "install with this system's package manager: JDK 17 or newer, Maven, Python 3.11 or newer with venv"
    fi
    if [ "$(id -u)" = 0 ]; then say "updating the list of packages"; apt-get update -qq; fi
    if [ -n "$python" ]; then
        if apt-cache show python3.11-venv >/dev/null 2>&1; then missing+=(python3.11 python3.11-venv)
        else missing+=(python3 python3-venv); fi
    fi
    java_works || missing+=("$(jdk_package)")
    command -v mvn >/dev/null || missing+=(maven)
    if [ "$(id -u)" != 0 ]; then die "run: sudo apt-get update && sudo apt-get install -y ${missing[*]}"; fi
    say "installing ${missing[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

wanted() { cat requirements-build.txt requirements-dev.txt pyproject.toml; "$1" --version; pwd; }

make_environment() {
    local python stamp
    python=$(find_python)
    [ -n "$python" ] || die "no Python 3.11 or newer with venv; name one: HIFI_PYTHON=/path/to/python make setup"
    stamp=$(wanted "$python" | sha256sum)
    if [ -x .venv/bin/hifi ] && [ "$(cat .venv/stamp 2>/dev/null)" = "$stamp" ]; then return; fi
    say "making .venv with $("$python" --version) (some minutes at the first time: PySpark is 400 MB)"
    "$python" -m venv --clear .venv
    local pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input install --require-hashes)
    [ -t 2 ] || pip+=(--progress-bar off)
    "${pip[@]}" -r requirements-build.txt >&2
    "${pip[@]}" --no-build-isolation -r requirements-dev.txt >&2
    .venv/bin/python -m pip --disable-pip-version-check --no-input install -q --no-deps --no-build-isolation -e . >&2
    printf '%s\n' "$stamp" > .venv/stamp
}

install_packages
make_environment
.venv/bin/python -m scripts.local.archive
say "done"
