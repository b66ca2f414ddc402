#!/usr/bin/env bash
# Builds etcd, Kubernetes' API server, controllers and scheduler, and KWOK from their Go modules into a folder of this
# user's cache, once for these versions: 12.5 minutes on two cores with one job. tests/kubernetes/test_aws_backend.py needs them.
set -euo pipefail
kubernetes=1.33.13
etcd=3.5.35
kwok=0.8.0

root=${HIFI_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hifi/kube}
stamp="$kubernetes $etcd $kwok"
if [ "$(cat "$root/bin/stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi
command -v go >/dev/null || { echo "no go: Go 1.24 or newer builds the control plane of the tests" >&2; exit 1; }
mkdir -p "$root/bin" "$root/k8s" "$root/etcd"
# One job at a time: the linker alone takes 2 GiB.
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS="-p=1 -buildvcs=false -modcacherw"
export GOMODCACHE=$root/gomod GOCACHE=$root/gocache
say() { printf 'kube-tools: %s\n' "$*" >&2; }

# k8s.io/kubernetes replaces its parts by folders of its repository: a module of our own names their releases instead.
minor=${kubernetes#1.}
mod=$(cd / && go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
{
    printf 'module hifi.test/k8s\n\n'
    sed -n '/^go /p; s/^godebug default/godebug default/p' "$mod"
    printf 'tool (\n'
    printf '\tk8s.io/kubernetes/cmd/%s\n' kube-apiserver kube-controller-manager kube-scheduler
    printf ')\nrequire k8s.io/kubernetes v%s\nreplace (\n' "$kubernetes"
    sed -nE "s#^[[:space:]]*(k8s.io/[a-z-]+) => ./staging.*#\t\1 => \1 v0.$minor#p" "$mod"
    printf ')\n'
} > "$root/k8s/go.mod"
(cd "$root/k8s" && go mod tidy)
version=k8s.io/component-base/version
flags="-s -w -X $version.gitVersion=v$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}"
for name in kube-apiserver kube-controller-manager kube-scheduler; do
    say "building $name"
    (cd "$root/k8s" && go build -trimpath -ldflags "$flags" -o "$root/bin/$name" "k8s.io/kubernetes/cmd/$name")
done
say "building kwok"
GOBIN=$root/bin go install -trimpath -ldflags "-s -w" "sigs.k8s.io/kwok/cmd/kwok@v$kwok"
say "building etcd"
printf 'module hifi.test/etcd\n\ngo 1.24.0\n\ntool go.etcd.io/etcd/server/v3\n\nrequire go.etcd.io/etcd/server/v3 v%s\n' \
    "$etcd" > "$root/etcd/go.mod"
(cd "$root/etcd" && go mod tidy && go build -trimpath -ldflags "-s -w" -o "$root/bin/etcd" go.etcd.io/etcd/server/v3)
printf '%s' "$stamp" > "$root/bin/stamp"
