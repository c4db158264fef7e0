#!/usr/bin/env bash
# Makes two hosts, runs a command with MUSTER_LAUNCH_AGENT set to reach them, and takes them down again.
# Usage: with_hosts.sh COMMAND…    The hosts are musterA (10.94.7.2) and musterB (10.94.7.3).
# Exit status 77, with the reason, where namespaces cannot be made.
#
# All of it lives in namespaces of this run: names of links and hosts cannot meet those of another run (the kernel deletes
# a network namespace's links some time after the namespace), and when the command ends, the kernel ends what it left.
set -u
here=$(dirname "$(readlink -f "$0")")

if [ "${MUSTER_TEST_HOSTS:-}" != inside ]; then
  own=(--net --mount --pid --fork --kill-child --mount-proc)
  [ "$(id -u)" = 0 ] || own+=(--user --map-root-user)
  why=$(unshare "${own[@]}" true 2>&1) || { echo "skipped: this machine does not allow network namespaces: $why"; exit 77; }
  MUSTER_TEST_HOSTS=inside exec unshare "${own[@]}" "$0" "$@"
fi

set -e
mount --make-rprivate /
mount -t tmpfs none /run
ip link set lo up
ip link add musterbr type bridge
ip addr add 10.94.7.1/24 dev musterbr
ip link set musterbr up
number=2
for host in musterA musterB; do
  ip netns add "$host"
  ip link add "veth$number" type veth peer name eth0 netns "$host"
  ip link set "veth$number" master musterbr up
  ip netns exec "$host" ip addr add "10.94.7.$number/24" dev eth0
  ip netns exec "$host" ip link set eth0 up
  ip netns exec "$host" ip link set lo up
  number=$((number + 1))
done
set +e
# Not exec: this shell is the first process of its namespace, and takes in the orphans of the command.
MUSTER_LAUNCH_AGENT=$here/agent.sh "$@"
