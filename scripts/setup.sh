#!/usr/bin/env bash
# Everything a fresh machine needs: JDK, Maven and HAProxy (by apt where it may), .venv, jars. Idempotent.
# With `without-edge` it leaves HAProxy out.
# With `policy-tools`, `cdktn-tools`, `deploy-tools`, `localstack`, `browser` or `edge` it makes only these.
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
    major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') && [ "${major:-0}" -ge 17 ] &&
        "$java" --list-modules | grep '^jdk.compiler@' >/dev/null # the store of scorecards starts from its source
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

# Of .venv, where make_environment puts it: five times as fast as pip, which needs half of the set-up's time.
install() {
    local python=$1; shift
    local index=${UV_DEFAULT_INDEX:-$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)}
    index=${PIP_INDEX_URL:-$index}
    if [ -n "$index" ]; then export UV_DEFAULT_INDEX=$index; fi
    # Without a cache: PySpark is built from its source, and each environment would leave 1.4 GB behind there.
    .venv/bin/uv pip install --quiet --no-cache --native-tls --no-progress --link-mode copy --python "$python" "$@" >&2
}

make_environment() {
    local python stamp
    python=$(find_python)
    [ -n "$python" ] || die "no Python 3.11 or newer with venv; name one: HIFI_PYTHON=/path/to/python make setup"
    stamp=$(wanted "$python" | sha256sum)
    if [ -x .venv/bin/hifi ] && [ "$(cat .venv/stamp 2>/dev/null)" = "$stamp" ]; then return; fi
    say "making .venv with $("$python" --version) (a minute or more at the first time: PySpark is 400 MB)"
    "$python" -m venv --clear .venv
    .venv/bin/python -m pip --disable-pip-version-check --no-input install -q --require-hashes \
        -r requirements-build.txt >&2
    say "installing the packages of requirements-dev.txt"
    install .venv --require-hashes --no-build-isolation -r requirements-dev.txt
    install .venv --no-deps --no-build-isolation -e .
    printf '%s\n' "$stamp" > .venv/stamp
}

# Tools with dependencies that fit no other environment. NAME gets .venv-NAME.
make_tools() {
    local name=$1 requirements=$2 python=$3 stamp
    stamp=$({ cat "$requirements"; "$python" --version; pwd; } | sha256sum)
    if [ "$(cat ".venv-$name/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    say "making .venv-$name (300 MB)"
    "$python" -m venv --clear --without-pip ".venv-$name"
    install ".venv-$name" --require-hashes -r "$requirements"
    printf '%s\n' "$stamp" > ".venv-$name/stamp"
}

# For any Python: NAME, and the requirements of the same name.
make_own_tools() {
    local python
    python=$(find_python)
    [ -n "$python" ] || die "no Python 3.11 or newer with venv; name one: HIFI_PYTHON=/path/to/python make $1-tools"
    make_tools "$1" "requirements-$1.txt" "$python"
}

# The `cdktf` that deploys, and what it runs on.
make_cdktf() {
    if ! command -v npm >/dev/null; then say "no npm: \`cdktf deploy\` needs it, for example: apt-get install npm"; return; fi
    local stamp
    stamp=$({ cat package-lock.json; node --version; } | sha256sum)
    if [ "$(cat node_modules/.stamp 2>/dev/null)" = "$stamp" ]; then return; fi
    say "installing cdktf's command line in node_modules (400 MB)"
    npm ci --no-audit --no-fund --loglevel=error >&2
    printf '%s\n' "$stamp" > node_modules/.stamp
}

# pyenv's command of that name may stand for a version that is not chosen: what is looked for is one that runs.
make_localstack() {
    local candidate
    for candidate in python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13*/bin/python3.13; do
        if "$candidate" -c 'import venv' 2>/dev/null; then
            make_tools localstack scripts/aws/localstack-requirements.txt "$candidate"
            .venv/bin/python -m scripts.aws.dynamodb_local
            return
        fi
    done
    say "no python3.13, which LocalStack needs outside a container: install it, or use a container engine"
}

# Chromium for the console's tests: this system's own, or else Playwright's.
make_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null; then return; fi
    done
    if [ "$(id -u)" = 0 ] && apt-cache show chromium 2>/dev/null | grep '^Depends:.*libnss3' >/dev/null; then  # not Ubuntu's snap
        say "installing chromium"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
    else
        say "installing Playwright's Chromium (300 MB)"
        .venv/bin/python -m playwright install chromium >&2
    fi
}

# HAProxy, for two sides on one machine; nothing else needs it.
make_edge() {
    if PATH=$PATH:/usr/local/sbin:/usr/sbin command -v haproxy >/dev/null; then return; fi
    if ! command -v apt-get >/dev/null; then say "\`hifi up --twins\` needs HAProxy: install it with this system's package manager"; return; fi
    if [ "$(id -u)" != 0 ]; then say "\`hifi up --twins\` needs HAProxy: sudo apt-get install -y haproxy"; return; fi
    say "installing haproxy"
    # The list of packages may be new enough; RUNLEVEL=1 keeps the package from starting a HAProxy of its own.
    install_haproxy || { apt-get update -qq && install_haproxy; } ||
        say "haproxy cannot be installed: \`hifi up --twins\` does not work without it"
}
install_haproxy() {
    DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends haproxy >/dev/null 2>&1
}

# The version that the Python package of the AWS provider is made for.
AWS_PROVIDER=5.100.0

# Terraform looks into folders of its own and into its registry. Where a machine keeps a mirror in another folder,
# it is linked there. Only the last folder can be a link: Terraform follows no other.
link_providers() {
    local found target
    while IFS= read -r found; do
        target=$HOME/.terraform.d/plugins/registry.terraform.io/${found#*/registry.terraform.io/}
        if [ -e "$target" ]; then continue; fi
        say "linking Terraform's provider from $found"
        mkdir -p "${target%/*}"
        ln -sfn "$found" "$target"
    done < <(find /opt /srv /usr/local /mnt -maxdepth 8 -type d \
        -path "*/registry.terraform.io/hashicorp/aws/$AWS_PROVIDER/*_*" 2>/dev/null)
}

name_what_aws_needs() {
    command -v node >/dev/null || say "no node: the stacks for AWS cannot be synthesised; Node.js 20 or newer, for" \
        "example: apt-get install nodejs npm"
    command -v terraform >/dev/null || say "no terraform: the stacks for AWS can be neither checked nor planned;" \
        "1.11 or newer from https://developer.hashicorp.com/terraform/install"
}

case ${1:-} in
    policy-tools) make_own_tools policy; exit ;;
    cdktn-tools) make_own_tools cdktn; exit ;;
    deploy-tools) make_cdktf; make_localstack; exit ;;
    localstack) make_localstack; exit ;;
    browser) make_browser; exit ;;
    edge) make_edge; exit ;;
esac
install_packages
if [ "${1:-}" != without-edge ]; then make_edge; fi
make_environment
.venv/bin/python -m scripts.local.class_archive_recording
link_providers
name_what_aws_needs
say "done"
