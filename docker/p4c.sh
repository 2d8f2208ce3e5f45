#!/bin/sh
# Compiles what netkv puts into a folder, with the p4c of this container, until it is stopped
# (docs/use/bmv2.md, "A p4c elsewhere"; netkv/live/bmv2/compile_service.py is the other side).
#
#   p4c.sh FOLDER
#
# A request is a folder with sources and the file `arguments`, one a line. Its answer is what p4c has
# written there, the file `output` with what it has printed, and then `status`, its exit status.
set -u

mkdir -p "$1" && cd "$1" || exit 2
p4c-bm2-ss --version >.version || exit 2
mv .version version

while :; do
    touch alive
    for arguments in */arguments; do
        folder=${arguments%/*}
        if [ ! -e "$arguments" ] || [ -e "$folder/status" ]; then
            continue
        fi
        # A request may be withdrawn at any time: its folder is gone then.
        set --
        while IFS= read -r word; do
            set -- "$@" "$word"
        done <"$arguments" || continue
        (cd "$folder" && exec timeout 600 p4c-bm2-ss "$@") >"$folder/output" 2>&1 </dev/null &
        while kill -0 $! 2>/dev/null; do
            touch alive
            sleep 0.1
        done
        wait $!
        echo $? >"$folder/.status" && mv "$folder/.status" "$folder/status"
    done
    sleep 0.3
done
