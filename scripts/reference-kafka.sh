#!/usr/bin/env bash
# Real Apache Kafka 2.8.2 beside kz: to compare answers, files and speed, to run the
# Java tools against kz, and to mix both in one cluster.
#
#   reference-kafka.sh fetch                              download it (needs mvn), once
#   reference-kafka.sh zookeeper DIR PORT                 start its ZooKeeper 3.5.9, wait until it listens
#   reference-kafka.sh broker DIR ID PORT ZK [k=v ...]    start a broker at protocol 2.6, wait until it listens
#   reference-kafka.sh serve FILE                         be a broker with this server.properties: log to stderr,
#                                                         no child (signals reach java), until it ends
#   reference-kafka.sh stop DIR NAME [SIGNAL]             NAME: zookeeper or broker-ID; waits for the end
#   reference-kafka.sh kafka-topics|kafka-dump-log|...    run one of Kafka's tools
#   reference-kafka.sh run CLASS [ARG ...]                run any class
#
# A node keeps everything below DIR: NAME.pid, NAME.log, its config and its data. A broker
# serves once "started (kafka.server.KafkaServer)" is in its log.
#
# KAFKA_HOME  where the jars are (default: kz-reference/kafka-2.8.2 in the user's cache)
# KAFKA_JVM   java flags of brokers; the default is chosen for a quick start on few
#             cores. To measure, use those that Kafka's own scripts set.
set -euo pipefail

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=${KAFKA_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/kz-reference/kafka-2.8.2}
small=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto)

die() {
  echo "reference-kafka.sh: $*" >&2
  exit 1
}

fetch() {
  [[ -e $home/complete ]] && return
  command -v java >/dev/null || die "java is missing (apt-get install default-jre-headless)"
  command -v mvn >/dev/null || die "mvn is missing (apt-get install maven)"
  mkdir -p "$home/conf"
  mvn --quiet --batch-mode --file "$scripts/reference-kafka.pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/libs"
  local level
  for level in INFO WARN; do
    printf '%s\n' "log4j.rootLogger=$level, err" log4j.appender.err=org.apache.log4j.ConsoleAppender log4j.appender.err.Target=System.err \
      log4j.appender.err.layout=org.apache.log4j.PatternLayout 'log4j.appender.err.layout.ConversionPattern=[%d] %p %m (%c)%n' \
      >"$home/conf/log4j-$level.properties"
  done
  touch "$home/complete"
}

# java_in LEVEL ARG...: replace this shell by java with Kafka's class path.
java_in() {
  local level=$1
  shift
  exec java -cp "$home/conf:$home/libs/*" -Dlog4j.configuration="file:$home/conf/log4j-$level.properties" "$@"
}

# tool CLASS ARG...: run a command line tool.
tool() {
  fetch
  java_in WARN "${small[@]}" -Xmx256m "$@"
}

# launch DIR NAME PORT JAVA-ARG...: run a node in the background until it listens.
launch() {
  local dir=$1 name=$2 port=$3 pid deadline=$((SECONDS + 60))
  shift 3
  (java_in INFO "$@") >>"$dir/$name.log" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$dir/$name.pid"
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    if ! kill -0 "$pid" 2>/dev/null; then
      tail -n 20 "$dir/$name.log" >&2
      die "$name ended while starting"
    fi
    ((SECONDS < deadline)) || die "$name does not listen on port $port after 60 s; see $dir/$name.log"
    sleep 0.1
  done
}

start_zookeeper() { # DIR PORT
  local dir=$1 port=$2
  mkdir -p "$dir/zookeeper"
  cat >"$dir/zookeeper.cfg" <<C
dataDir=$dir/zookeeper
clientPortAddress=127.0.0.1
clientPort=$port
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
C
  launch "$dir" zookeeper "$port" "${small[@]}" -Xmx256m org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zookeeper.cfg"
}

start_broker() { # DIR ID PORT ZK [k=v ...]
  local dir=$1 id=$2 port=$3 zk=$4 flags
  shift 4
  mkdir -p "$dir/broker-$id"
  {
    echo "broker.id=$id"
    echo "listeners=PLAINTEXT://127.0.0.1:$port"
    echo "log.dirs=$dir/broker-$id"
    echo "zookeeper.connect=$zk"
    echo "inter.broker.protocol.version=2.6"
    (($# == 0)) || printf '%s\n' "$@"
  } >"$dir/broker-$id.properties"
  read -ra flags <<<"${KAFKA_JVM:-${small[*]} -Xmx512m}"
  launch "$dir" "broker-$id" "$port" "${flags[@]}" kafka.Kafka "$dir/broker-$id.properties"
}

serve() { # FILE
  local flags
  read -ra flags <<<"${KAFKA_JVM:-${small[*]} -Xmx512m}"
  java_in INFO "${flags[@]}" kafka.Kafka "$1"
}

stop() { # DIR NAME [SIGNAL]
  local file=$1/$2.pid pid deadline=$((SECONDS + 60))
  [[ -e $file ]] || die "$file is missing"
  pid=$(<"$file")
  kill "-${3:-TERM}" "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do
    ((SECONDS < deadline)) || die "$2 (pid $pid) still runs after 60 s"
    sleep 0.1
  done
  rm -f "$file"
}

command=${1:-}
[[ -n $command ]] && shift
case $command in
fetch) fetch ;;
zookeeper) fetch && start_zookeeper "$@" ;;
broker) fetch && start_broker "$@" ;;
serve) fetch && serve "$@" ;;
stop) stop "$@" ;;
run) tool "$@" ;;
kafka-topics) tool kafka.admin.TopicCommand "$@" ;;
kafka-configs) tool kafka.admin.ConfigCommand "$@" ;;
kafka-consumer-groups) tool kafka.admin.ConsumerGroupCommand "$@" ;;
kafka-reassign-partitions) tool kafka.admin.ReassignPartitionsCommand "$@" ;;
kafka-leader-election) tool kafka.admin.LeaderElectionCommand "$@" ;;
kafka-delete-records) tool kafka.admin.DeleteRecordsCommand "$@" ;;
kafka-log-dirs) tool kafka.admin.LogDirsCommand "$@" ;;
kafka-acls) tool kafka.admin.AclCommand "$@" ;;
kafka-broker-api-versions) tool kafka.admin.BrokerApiVersionsCommand "$@" ;;
kafka-console-producer) tool kafka.tools.ConsoleProducer "$@" ;;
kafka-console-consumer) tool kafka.tools.ConsoleConsumer "$@" ;;
kafka-dump-log) tool kafka.tools.DumpLogSegments "$@" ;;
kafka-get-offsets) tool kafka.tools.GetOffsetShell "$@" ;;
kafka-replica-verification) tool kafka.tools.ReplicaVerificationTool "$@" ;;
kafka-producer-perf-test) tool org.apache.kafka.tools.ProducerPerformance "$@" ;;
kafka-consumer-perf-test) tool kafka.tools.ConsumerPerformance "$@" ;;
kafka-verifiable-producer) tool org.apache.kafka.tools.VerifiableProducer "$@" ;;
kafka-verifiable-consumer) tool org.apache.kafka.tools.VerifiableConsumer "$@" ;;
zookeeper-shell) tool org.apache.zookeeper.ZooKeeperMain -server "$@" ;;
*)
  sed -n '2,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
  ;;
esac
