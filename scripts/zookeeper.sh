#!/usr/bin/env bash
# Debian's ZooKeeper on one port, for a first cluster and for tests by hand.
#
#   zookeeper.sh start [PORT] [DIR]   start, wait until it answers (default: 2181, ./zookeeper-data)
#   zookeeper.sh stop  [DIR]          stop; the data stays in DIR
#   zookeeper.sh run   [PORT] [DIR]   start in the foreground; Ctrl-C ends it
#
# Needs the Debian package "zookeeper". It listens on 127.0.0.1 only. DIR holds
# everything: zoo.cfg, data, log, pid. Remove DIR to begin with an empty ZooKeeper.
set -eu

jar=/usr/share/java/zookeeper.jar
main=org.apache.zookeeper.server.quorum.QuorumPeerMain

die() { echo "zookeeper.sh: $*" >&2; exit 1; }

prepare() { # port dir
  [ -f "$jar" ] || die "$jar is missing (apt-get install zookeeper)"
  command -v java >/dev/null || die "java is missing (apt-get install default-jre-headless)"
  mkdir -p "$2/data"
  dir=$(cd "$2" && pwd)
  cat >"$dir/zoo.cfg" <<C
dataDir=$dir/data
clientPort=$1
clientPortAddress=127.0.0.1
tickTime=2000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
C
}

# answers PORT: the four-letter word "ruok" gets "imok".
answers() { [ "$(bash -c "exec 3<>/dev/tcp/127.0.0.1/$1 && printf ruok >&3 && cat <&3" 2>/dev/null)" = imok ]; }

case "${1:-}" in
run)
  prepare "${2:-2181}" "${3:-zookeeper-data}"
  exec java -Xmx256m -cp "$jar" "$main" "$dir/zoo.cfg" ;;
start)
  port=${2:-2181}
  answers "$port" && die "something answers on 127.0.0.1:$port already"
  prepare "$port" "${3:-zookeeper-data}"
  nohup java -Xmx256m -cp "$jar" "$main" "$dir/zoo.cfg" >"$dir/log" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$dir/pid"
  tries=0
  until answers "$port"; do
    kill -0 "$pid" 2>/dev/null || { tail -n 20 "$dir/log" >&2; die "it ended while starting"; }
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || die "no answer on 127.0.0.1:$port within 60 s; see $dir/log"
    sleep 0.2
  done
  echo "ZooKeeper answers on 127.0.0.1:$port (pid $pid, $dir)" ;;
stop)
  dir=${2:-zookeeper-data}
  [ -f "$dir/pid" ] || die "$dir/pid is missing: not started by this script"
  pid=$(cat "$dir/pid")
  kill "$pid" 2>/dev/null || { rm -f "$dir/pid"; exit 0; }
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  rm -f "$dir/pid" ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2 ;;
esac
