#!/usr/bin/env bash
# Makes two hosts, runs a command with MUSTER_LAUNCH_AGENT set to reach them, and takes them down again.
# Usage: with_hosts.sh COMMAND…    The hosts are musterA (10.94.7.2) and musterB (10.94.7.3).
# Exit status 77, with the reason, where network namespaces cannot be made.
set -u
here=$(dirname "$(readlink -f "$0")")
hosts=(musterA musterB)

[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces need root"; exit 77; }
ip netns add muster-probe 2>/dev/null && ip netns delete muster-probe ||
  { echo "skipped: this machine does not allow network namespaces"; exit 77; }

take_down() {
  for host in "${hosts[@]}"; do
    ip netns pids "$host" 2>/dev/null | xargs -r kill -KILL 2>/dev/null
    ip netns delete "$host" 2>/dev/null
  done
  ip link delete musterbr 2>/dev/null
}
take_down
trap take_down EXIT
trap 'exit 130' INT TERM

set -e
ip link add musterbr type bridge
ip addr add 10.94.7.1/24 dev musterbr
ip link set musterbr up
number=2
for host in "${hosts[@]}"; do
  ip netns add "$host"
  ip link add "veth$number" type veth peer name eth0 netns "$host"
  ip link set "veth$number" master musterbr up
  ip netns exec "$host" ip addr add "10.94.7.$number/24" dev eth0
  ip netns exec "$host" ip link set eth0 up
  ip netns exec "$host" ip link set lo up
  number=$((number + 1))
done
export MUSTER_LAUNCH_AGENT=$here/agent.sh
set +e
"$@"
