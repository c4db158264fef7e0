#!/usr/bin/env bash
# Rules that a machine can check. Prints each fault, and a closing line.
set -u
cd "$(dirname "$(readlink -f "$0")")/../.."
passed=0 failed=0
rule() {
  local name=$1 found=$2
  if [ -z "$found" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); printf '%s:\n%s\n' "$name" "$found"; fi
}
sources=$(git ls-files '*.cpp' '*.hpp')

rule 'not formatted (clang-format -i)' "$(for f in $sources; do clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || echo "  $f"; done)"
rule 'core uses a layer above it' "$(grep -nE '#include (<|")(mpi|ucp|ucs|boost/asio|nccl|hwloc)|#include "(bootstrap|group|transport|topology|launcher)/' $(git ls-files 'core/*.cpp' 'core/*.hpp'))"
rule 'MPI outside the bootstrap and the benchmark beside it' "$(grep -lE '\bMPI_[A-Z]' $(git ls-files 'core/*.?pp' 'comm/*.?pp' 'launcher/*.?pp') | grep -vE '^comm/src/bootstrap/mpi_bootstrap.cpp|^launcher/src/bench/')"
rule 'UCX outside its folder' "$(grep -lE '\buc[pt]_[a-z]' $(git ls-files 'core/*.?pp' 'comm/*.?pp' 'launcher/*.?pp') | grep -v '^comm/src/transport/ucx/')"
rule 'a private header of another layer' "$(grep -nE '#include "(actor|server|memory|driver|kernel)/' $(git ls-files 'comm/*.?pp' 'launcher/*.?pp' 'examples/*.?pp'))"
rule 'files over 600 lines' "$(wc -l $sources | awk '$2 != "total" && $1 > 600 {print "  " $2 ": " $1}')"
rule 'drawer names' "$(git ls-files | grep -iE '(^|/)(utils?|helpers?|common|misc|manager)[^/]*\.(hpp|cpp|sh|py)$')"
rule 'sleeps' "$(grep -nE 'sleep_for|sleep_until|usleep\(' $sources)"
rule 'work left to do' "$(git grep -nE 'TO''DO|FIX''ME|XX''X' -- . ':!LICENSE')"
rule 'headers that do not compile alone' "$(for f in $(git ls-files 'core/include/*.hpp' 'comm/include/*.hpp'); do
  g++ -std=c++20 -fsyntax-only -x c++ -Icore/include -Icomm/include "$f" 2>/dev/null || echo "  $f"; done)"
rule 'shell scripts with errors' "$(for f in dev .ci/run $(git ls-files '*.sh'); do bash -n "$f" 2>&1; done)"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
