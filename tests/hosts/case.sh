#!/usr/bin/env bash
# One case on two hosts; run it under with_hosts.sh. Usage: case.sh FOLDER_OF_PROGRAMS CASE
set -u
bin=$1
muster=$bin/muster
hosts=10.94.7.2:2,10.94.7.3:2
fail() { echo "FAILED: $*"; exit 1; }
export MUSTER_TIMEOUT=60

case $2 in
collectives)
  # 2 hosts x 2 ranks x 2 devices.
  "$muster" run --hosts $hosts --devices-per-rank 2 "$bin/multirank_collectives" || fail "collectives" ;;
transfers) "$muster" run --hosts $hosts "$bin/multirank_transfers" || fail "transfers" ;;
errors) MUSTER_TIMEOUT=3 "$muster" run --hosts $hosts --devices-per-rank 9 "$bin/multirank_errors" || fail "errors" ;;
train)
  "$muster" run --hosts $hosts "$bin/train_digits" --epochs 2 | tee /dev/stderr | grep -q 'same bits on 1 rank and on 4' ||
    fail "the losses differ" ;;
bench)
  out=$("$muster" bench all_reduce --hosts $hosts --max 1M --rounds 3 --json) || fail "bench"
  echo "$out"
  python3 -c '
import json, sys
run = json.loads(sys.argv[1])
assert run["ranks"] == 4 and run["hosts"] == 2, run
paths = run["path"]
assert sum("direct" in p for p in paths) == 4 and sum("over UCX tcp" in p for p in paths) == 8, paths
assert all(point["errors"] == 0 for point in run["points"])
' "$out" || fail "the paths are not: mapped memory inside a host, UCX between" ;;
*) fail "there is no case $2" ;;
esac
