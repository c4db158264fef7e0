#!/usr/bin/env bash
# Runs a command on one of the hosts that with_hosts.sh made, as ssh would: agent.sh [options] HOST COMMAND…
while [ "${1#-}" != "$1" ]; do shift; done
case $1 in
  10.94.7.2) host=musterA ;;
  10.94.7.3) host=musterB ;;
  *) host=$1 ;;
esac
shift
# A host name and a /dev/shm of its own: nothing but the network is shared.
exec ip netns exec "$host" unshare --uts --mount bash -c '
  hostname "$0"; mount --make-rprivate /; mount -t tmpfs none /dev/shm; exec bash -c "$*"' "$host" "$@"
