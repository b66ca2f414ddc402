#!/usr/bin/env bash
# What a deployment would change, as Markdown: plan.sh plan.md
set -euo pipefail
cd "$(dirname "$0")/../.."
page=$PWD/${1:?name the file to write}
longest=18000  # of each stack; GitHub takes comments of 65,536 characters
.venv/bin/python -m infra.main
: > "$page"
# Against the recorded state: to look at the clusters' add-ons anew would take a way to their private API.
status=0
for stack in blue green edge; do
    folder=cdktf.out/stacks/$stack
    terraform -chdir="$folder" init -input=false -no-color > /dev/null
    if text=$(terraform -chdir="$folder" plan -input=false -no-color -lock=false -refresh=false 2>&1); then
        title=$(grep -E '^(Plan:|No changes)' <<< "$text" || true)
    else
        title="failed"
        status=1
    fi
    {
        printf '<details><summary>%s: %s</summary>\n\n```\n' "$stack" "$title"
        head -c $longest <<< "$text"
        printf '\n```\n</details>\n\n'
    } >> "$page"
done
exit $status
