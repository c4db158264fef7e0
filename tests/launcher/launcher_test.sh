#!/usr/bin/env bash
# One case of `muster run` or `muster bench`, with real processes. Usage: launcher_test.sh MUSTER CASE
set -u
muster=$1
fail() { echo "FAILED: $*"; exit 1; }

# wait_until SECONDS COMMAND…: until the command succeeds; fails at the deadline.
wait_until() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do [ $SECONDS -lt $end ] || return 1; read -rt 0.05 <> <(:) || true; done
}

case $2 in
output)
  out=$("$muster" run -n 3 bash -c 'for i in 1 2 3; do echo "line $i of $OMPI_COMM_WORLD_RANK"; done; echo oops >&2' 2>/tmp/muster_err.$$)
  err=$(cat /tmp/muster_err.$$); rm -f /tmp/muster_err.$$
  for rank in 0 1 2; do
    for i in 1 2 3; do grep -qx "$rank| line $i of $rank" <<<"$out" || fail "rank $rank's line $i is missing in: $out"; done
    grep -qx "$rank| oops" <<<"$err" || fail "rank $rank's error is missing in: $err"
  done
  ;;
exit_status)
  "$muster" run -n 3 bash -c '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || exit 42' >/dev/null 2>&1
  [ $? = 42 ] || fail "the status of the failing rank was lost"
  "$muster" run -n 2 true || fail "a good run has another status than 0"
  ;;
signal_status)
  "$muster" run -n 2 bash -c '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || kill -SEGV $$; exec sleep 60' >/dev/null 2>&1
  [ $? = 139 ] || fail "a rank that died of signal 11 gave status $?"
  ;;
no_process_left)
  mark=muster-left-$$
  # A rank that leaves a child of its own behind, in a session of its own.
  "$muster" run -n 2 bash -c "setsid bash -c 'exec -a $mark sleep 300' & exit 3" >/dev/null 2>&1
  [ $? = 3 ] || fail "status"
  ! pgrep -f "^$mark" >/dev/null || { pkill -f "^$mark"; fail "a process of the job is left"; }
  ;;
terminate)
  mark=muster-term-$$
  "$muster" run -n 2 bash -c "exec -a $mark sleep 300" >/dev/null 2>&1 &
  launcher=$!
  both_run() { [ "$(pgrep -fc "^$mark")" = 2 ]; }
  wait_until 30 both_run || fail "the ranks did not start"
  kill -TERM $launcher
  none_runs() { ! pgrep -f "^$mark" >/dev/null; }
  wait_until 30 none_runs || { pkill -f "^$mark"; fail "SIGTERM did not end the ranks"; }
  wait $launcher && fail "a job that was ended has status 0"
  ;;
bad_usage)
  for arguments in "run" "run -n 0 true" "run --hosts a:x true" "bench nothing" "bench --max 12Q" "bench --compare soup" "nonsense"; do
    # shellcheck disable=SC2086
    message=$("$muster" $arguments 2>&1) && fail "'$arguments' was taken"
    [ -n "$message" ] || fail "'$arguments' was refused without a word"
  done
  "$muster" run -n 1 /nonexistent/program >/dev/null 2>&1 && fail "a program that does not exist ran"
  "$muster" bench --help | grep -q -- --compare || fail "help"
  ;;
bench_json)
  "$muster" bench all_reduce --ranks 2 --max 64K --rounds 3 --compare mpi --json | python3 -c '
import json, sys
run = json.load(sys.stdin)
assert run["op"] == "all_reduce" and run["ranks"] == 2 and run["hosts"] == 1, run
assert any("direct" in path for path in run["path"]), run["path"]
assert [p["bytes"] for p in run["points"]] == [8 << i for i in range(14)], run["points"]
for point in run["points"]:
    assert point["errors"] == 0 and point["time_us"] > 0 and point["count"] * 4 == point["bytes"], point
    mpi = point["compare"]["mpi"]
    assert abs(mpi["ratio"] - mpi["time_us"] / point["time_us"]) < 1e-9, point
' || fail "the JSON is not as promised"
  ;;
bench_agrees)
  for operation in all_reduce reduce all_gather reduce_scatter broadcast all_to_all; do
    for dtype in f32 bf16 f8_e4m3 i64; do
      "$muster" bench $operation --ranks 3 --devices-per-rank 2 --min 96 --max 200K --rounds 1 --dtype $dtype --op max >/tmp/muster_bench.$$ 2>&1 ||
        { cat /tmp/muster_bench.$$; rm -f /tmp/muster_bench.$$; fail "$operation $dtype"; }
    done
  done
  rm -f /tmp/muster_bench.$$
  ;;
*) fail "there is no case $2" ;;
esac
echo "$2: as it should be"
