# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2178
#
# A Redis Cluster and a Sentinel trio of the test's own. To be loaded after lib/common:
#
#   setup() { start_cluster 3 1; export REDLOCK_SERVERS=$CLUSTER_URI; }
#   setup() { start_sentinels; export REDLOCK_SERVERS=$SENTINEL_URI; }
#   teardown() { stop_all; }
#
# Every node is a server NAME like those of start_server: `cli NAME`, kill_server, pause_server, resume_server,
# restart_server and pid_of take it. A helper that prints or sets a node means its NAME; NAME_PORT is its port.
#
# What a test waits for is asked of many nodes, again and again. So such helpers use ask_node, which takes no process,
# and set variables: a $(…) takes one.

# Milliseconds without an answer after which the others call a node failed. A machine under load may let that much
# pass. A test that wants no fail-over sets these variables to a large value before it starts the nodes.
CLUSTER_NODE_TIMEOUT=1000
SENTINEL_DOWN_AFTER=1000

SERVICE=redlock # the name under which the sentinels know their primary

declare -gA NODE_IDS=()   # NAME → the ID of a node, or of a sentinel
declare -gA NODE_NAMES=() # ID or port → NAME
CLUSTER=() DATA=() SENTINELS=()
NODE_PASSWORD=''         # of the servers, with --password
SENTINEL_PASSWORD=''     # of the sentinels, with --sentinel-password

# ---- both ------------------------------------------------------------------------------------

# node_cli NAME ARG…: cli with the password that the node wants. Without ARG, standard input has one command a line.
node_cli() {
  local -n node_socket=${1}_SOCKET
  local password=$NODE_PASSWORD
  [[ $1 != S[0-9] ]] || password=$SENTINEL_PASSWORD
  shift
  if [[ -n $password ]]; then
    REDISCLI_AUTH=$password redis-cli --no-auth-warning -s "$node_socket" "$@"
  else
    ask_server "$node_socket" "$@"
  fi
}

# denied_by NODE…: prints the commands that these did not permit, each once.
denied_by() {
  local name
  for name in "$@"; do node_cli "$name" acl log; done | awk 'previous == "object" { print } { previous = $0 }' | sort -u
}

# each_node ARG…: the same command to every node that start_cluster or start_sentinels started and that runs.
each_node() {
  local name
  for name in "${CLUSTER[@]}" "${DATA[@]}" "${SENTINELS[@]}"; do
    ! node_runs "$name" || node_cli "$name" "$@" || return 1
  done
}

# ask_node NAME COMMAND…: sets SAID to what node_cli would print for these commands, each with its arguments in one
# word. This shell itself speaks to the port of the node, unless that takes TLS. Fails if the node does not answer.
ask_node() {
  local -n node_port=${1}_PORT
  local commands password=$NODE_PASSWORD
  [[ $1 != S[0-9] ]] || password=$SENTINEL_PASSWORD
  SAID=''
  if [[ -n $TLS_CERTIFICATE ]]; then
    printf -v commands '%s\n' "${@:2}"
    SAID=$(node_cli "$1" <<<"$commands") || return 1
    SAID=${SAID//$'\r'/}
  else
    shift
    [[ -z $password ]] || set -- "auth $password" "$@"
    converse "$@" 2>/dev/null 0<>"/dev/tcp/127.0.0.1/$node_port" || return 1
    [[ -z $password ]] || SAID=${SAID#OK$'\n'}
    SAID=${SAID%$'\n'}
  fi
}

# converse COMMAND…: sends them to the server on standard input, and adds its replies to SAID.
converse() {
  local command LC_ALL=C # the server counts bytes
  printf '%s\r\n' "$@" >&0
  for command in "$@"; do read_reply || return 1; done
}

# read_reply: adds the reply that comes next on standard input to SAID: a line, or one for each element.
read_reply() {
  local head body
  IFS= read -r head || return 1
  head=${head%$'\r'}
  case $head in
  '$-1' | '*-1') SAID+=$'\n' ;;
  '$'*) IFS= read -rN $((${head:1} + 2)) body && SAID+=${body//$'\r'/} ;;
  '*'*) for ((body = ${head:1}; body > 0; --body)); do read_reply || return 1; done ;;
  *) SAID+=${head:1}$'\n' ;;
  esac
}

# split_at CHARACTERS TEXT: sets PARTS to what stands between these characters, without what is empty.
# shellcheck disable=SC2206 # parts
split_at() {
  local - IFS=$1
  set -f
  PARTS=($2)
}

# node_runs NAME: the process lives and is not stopped.
node_runs() {
  local -n node_pid=${1}_PID
  find_state "$node_pid" && [[ $STATE != [ZXT]* ]]
}

# has_renewed NODE: a key there was given more time. await_renewal NODE: until that happens once more.
has_renewed() { count_renewals "$1" && ((RENEWALS > 0)); }
await_renewal() { count_renewals "$1" && wait_until "$BOUND" has_more_renewals "$1" "$RENEWALS"; }
has_more_renewals() { count_renewals "$1" && ((RENEWALS > $2)); }
# count_renewals NODE: sets RENEWALS to what time_given prints.
count_renewals() {
  ask_node "$1" 'info commandstats' || return 1
  RENEWALS=0
  [[ ! $SAID =~ cmdstat_pexpire:calls=([0-9]+), ]] || RENEWALS=${BASH_REMATCH[1]}
}

# freeze_in_renewal NODE: it carries out no more commands, and the holder of $LOCK, that of start_job, has asked it in
# vain for a renewal. So a test of a fail-over can use a ttl that is longer than any fail-over takes: its job notices the
# failure now, and not at the next regular renewal.
freeze_in_renewal() {
  wait_until "$BOUND" find_told "$1" || return 1
  ask_node "$1" multi 'client pause 600000' "publish $TOLD x" exec || return 1
  wait_for_line "$JOB_ERR" "cannot be renewed"
}
find_told() {
  local name
  for name in "$1" "${CLUSTER[@]}"; do
    ! ask_node "$name" "pubsub channels redlock:{$LOCK}:told:*" || [[ $SAID != *told* ]] || { TOLD=$SAID && return; }
  done
  return 1
}

# read_node_options ARG…: sets TLS_CERTIFICATE and the passwords from the options of start_cluster and
# start_sentinels, and NODE_OPTIONS from the others.
read_node_options() {
  TLS_CERTIFICATE='' NODE_PASSWORD='' SENTINEL_PASSWORD='' NODE_OPTIONS=()
  while [[ ${1-} == --tls || ${1-} == --password || ${1-} == --sentinel-password ]]; do
    case $1 in
    --tls) TLS_CERTIFICATE=$2 ;;
    --password) NODE_PASSWORD=$2 ;;
    --sentinel-password) SENTINEL_PASSWORD=$2 ;;
    esac
    shift 2
  done
  NODE_OPTIONS=(--repl-diskless-sync yes --repl-diskless-sync-delay 0 --repl-timeout 60 "$@")
  [[ -z $NODE_PASSWORD ]] || NODE_OPTIONS+=(--requirepass "$NODE_PASSWORD" --masterauth "$NODE_PASSWORD")
  SCHEME=redis
  [[ -n $TLS_CERTIFICATE ]] || return 0
  SCHEME=rediss
  needs_tls
  TLS_OPTIONS=(--tls-cert-file "$TLS/$TLS_CERTIFICATE.crt" --tls-key-file "$TLS/$TLS_CERTIFICATE.key"
    --tls-ca-cert-file "$TLS/ca.crt" --tls-auth-clients no --tls-replication yes)
}

# choose_ports N: sets FREE_PORTS to N different ports.
choose_ports() {
  local -A chosen=()
  local i port
  FREE_PORTS=()
  while ((${#FREE_PORTS[@]} < $1)); do
    for port in $(for ((i = 0; i < $1; ++i)); do free_port; done); do
      [[ -z ${chosen[$port]-} ]] || continue
      chosen[$port]=1
      FREE_PORTS+=("$port")
    done
  done
  FREE_PORTS=("${FREE_PORTS[@]:0:$1}")
}

# describe_node NAME PORT [OPTION…]: describe_server with a TLS port where the test wants one.
describe_node() {
  local name=$1 port=$2
  shift 2
  if [[ -n $TLS_CERTIFICATE ]]; then
    describe_server "$name" "$port" "${NODE_OPTIONS[@]}" --port 0 --tls-port "$port" "${TLS_OPTIONS[@]}" "$@"
    declare -g "${name}_TLS_URI=rediss://127.0.0.1:$port"
  else
    describe_server "$name" "$port" "${NODE_OPTIONS[@]}" "$@"
  fi
  NODE_NAMES[$port]=$name
}

# spawn_nodes NAME…: starts them at the same time; fails if one does not answer, and has ended all of them then.
spawn_nodes() {
  local name failed=''
  for name in "$@"; do spawn_server "$name" "$SCRATCH/server.$name" || return 1; done
  for name in "$@"; do await_server "$name" "$SCRATCH/server.$name" || failed+=" $name"; done
  [[ -n $failed ]] || return 0
  for name in "$@"; do gone "$(pid_of "$name")" || kill_server "$name"; done
  return 1
}

# new_node_id NAME: draws an ID, so that no node of another test takes this one for its own.
new_node_id() {
  printf -v "NODE_IDS[$1]" '%08x%08x%08x%08x%08x' $SRANDOM $SRANDOM $SRANDOM $SRANDOM $SRANDOM
  NODE_NAMES[${NODE_IDS[$1]}]=$1
}

# ---- a cluster -------------------------------------------------------------------------------

# start_cluster PRIMARIES REPLICAS_EACH [--tls CERTIFICATE] [--password WORD] [REDIS OPTIONS…]: nodes C1, C2 and so on
# with real data; the primaries come first, each has an equal part of the slots. Returns when all nodes call the
# cluster ok and all replicas are connected. Sets CLUSTER (the names), CLUSTER_PRIMARIES, CLUSTER_REPLICAS,
# CLUSTER_PORTS, CLUSTER_PIDS, CLUSTER_URI (all nodes are seeds), and per node what start_server sets.
#
# A primary that starts calls its cluster down for 2 s. A replica does not, and one that takes over keeps its opinion.
# So every node begins as the replica of a primary that never existed (P1, P2…), of which it reads in nodes.conf.
start_cluster() {
  local primaries=$1 count=$(($1 * (1 + $2))) try i
  shift 2
  read_node_options "$@"
  CLUSTER=()
  for ((i = 1; i <= count; ++i)); do CLUSTER+=("C$i"); done
  CLUSTER_PRIMARIES=("${CLUSTER[@]:0:primaries}")
  CLUSTER_REPLICAS=("${CLUSTER[@]:primaries}")
  for try in 1 2 3 4 5; do
    describe_cluster
    spawn_nodes "${CLUSTER[@]}" && break
    ((try < 5)) || fail "no cluster:" "$(tail -n 3 "$SCRATCH"/server.C*/log)" || return 1
  done
  take_over_slots || return 1
  CLUSTER_URI='' CLUSTER_PIDS=()
  for i in "${CLUSTER[@]}"; do
    local -n node_pid=${i}_PID node_port=${i}_PORT
    CLUSTER_PIDS+=("$node_pid")
    CLUSTER_URI+=,127.0.0.1:$node_port
  done
  CLUSTER_URI=$SCHEME+cluster://${CLUSTER_URI#,}
}

# describe_cluster: gives every node its ports, ID, options and nodes.conf.
describe_cluster() {
  local name i=0 count=${#CLUSTER[@]} bus=fixed secure=no
  choose_ports $((2 * count))
  make_folders "${CLUSTER[@]}"
  CLUSTER_PORTS=("${FREE_PORTS[@]:0:count}")
  BUS_PORTS=("${FREE_PORTS[@]:count}")
  [[ -z $TLS_CERTIFICATE ]] || secure=yes
  ! server_at_least 7 || bus=free
  for name in "${CLUSTER_PRIMARIES[@]}"; do new_node_id "P${name#C}"; done
  for name in "${CLUSTER[@]}"; do
    new_node_id "$name"
    describe_node "$name" "${CLUSTER_PORTS[i]}" --cluster-enabled yes --cluster-config-file nodes.conf \
      --cluster-node-timeout 15000 --cluster-replica-validity-factor 0
    local -n arguments=${name}_ARGS
    if [[ $bus == free ]]; then
      arguments+=(--cluster-port "${BUS_PORTS[i]}")
    else
      BUS_PORTS[i]=$((CLUSTER_PORTS[i] + 10000))
    fi
    [[ $secure == no ]] || arguments+=(--tls-cluster yes)
    ((++i))
  done
  for ((i = 0; i < count; ++i)); do write_nodes_conf "$i" >"$SCRATCH/server.${CLUSTER[i]}/nodes.conf"; done
}

# write_nodes_conf INDEX: prints what the node of that index knows when it starts.
write_nodes_conf() {
  local primaries=${#CLUSTER_PRIMARIES[@]} i flags
  for ((i = 0; i < primaries; ++i)); do
    echo "${NODE_IDS[P$((i + 1))]} 127.0.0.1:1@1 master - 0 0 $((i + 1)) connected" \
      "$((16384 * i / primaries))-$((16384 * (i + 1) / primaries - 1))"
  done
  for ((i = 0; i < ${#CLUSTER[@]}; ++i)); do
    flags=slave
    ((i != $1)) || flags=myself,slave
    echo "${NODE_IDS[${CLUSTER[i]}]} 127.0.0.1:${CLUSTER_PORTS[i]}@${BUS_PORTS[i]} $flags" \
      "${NODE_IDS[P$((i % primaries + 1))]} 0 0 $((i % primaries + 1)) connected"
  done
  echo "vars currentEpoch 10 lastVoteEpoch 0"
}

# take_over_slots: makes C1 and so on the primaries, and has all nodes forget the others. A node tells the others whom
# it follows when it pings them: every half node time-out.
take_over_slots() {
  local name words=() epoch=0
  for name in "${CLUSTER_PRIMARIES[@]}"; do
    # Two with the same epoch would settle that later, and if a slot moves just then, it keeps two owners.
    wait_until "$BOUND" knows_epoch "$name" "$epoch" || return 1
    say_ok "$name" cluster failover takeover || return 1
    read_epoch "$name" my || return 1
    epoch=$EPOCH
    words+=("cluster forget ${NODE_IDS[P${name#C}]}")
  done
  words+=('config set cluster-node-timeout 1000')
  # A node cannot forget its primary, and calls the cluster down while it knows no node that has a slot.
  for name in "${CLUSTER[@]}"; do wait_until "$BOUND" knows_primaries "$name" || return 1; done
  for name in "${CLUSTER[@]}"; do
    ask_node "$name" "${words[@]}" && [[ $SAID != *ERR* ]] || fail "$name does not forget" || return 1
  done
  await_cluster || return 1
  for name in "${CLUSTER[@]}"; do
    say_ok "$name" config set cluster-node-timeout "$CLUSTER_NODE_TIMEOUT" || return 1
    local -n arguments=${name}_ARGS
    arguments+=(--cluster-node-timeout "$CLUSTER_NODE_TIMEOUT") # for restart_server
  done
}
knows_epoch() { read_epoch "$1" current && ((EPOCH >= $2)); }
# read_epoch NODE current|my: sets EPOCH to the one that the node knows of, or has.
read_epoch() {
  ask_node "$1" 'cluster info' && [[ $SAID =~ cluster_$2_epoch:([0-9]+) ]] && EPOCH=${BASH_REMATCH[1]}
}
knows_primaries() {
  ask_node "$1" 'info replication' 'cluster nodes' || return 1
  [[ $SAID == *role:master* || $SAID == *master_link_status:up* ]] || return 1
  # Redis 8.0 with TLS shows the port as 0.
  [[ $SAID == *:[01]@1\ * && ! $SAID =~ :[01]@1\ [^$'\n']*connected\ [0-9] ]]
}

# await_cluster: until all nodes that run call the cluster ok and agree on the primary of every slot, these primaries
# run, and the replicas that run are connected to theirs.
await_cluster() { wait_until 30 cluster_agrees; }
cluster_agrees() {
  local name opinion=''
  for name in "${CLUSTER[@]}"; do
    node_runs "$name" || continue
    form_opinion "$name" || return 1
    [[ -z $opinion || $OPINION == "$opinion" ]] || return 1
    opinion=$OPINION
  done
}

# form_opinion NAME: sets OPINION to the slots of each node as that one sees them; fails if it does not call the Cluster
# ok.
form_opinion() {
  local name line
  local -A roles=()
  ask_node "$1" 'cluster info' 'cluster nodes' 'info replication' || return 1
  [[ $SAID == *cluster_state:ok* ]] || return 1
  [[ $SAID != *role:slave* || $SAID == *master_link_status:up* ]] || return 1
  split_at $'\n' "$SAID"
  for line in "${PARTS[@]}"; do [[ ! $line =~ ^[0-9a-f]{40}\  ]] || read_role "$line" || return 1; done
  OPINION=''
  for name in "${CLUSTER[@]}"; do OPINION+=$name${roles[$name]-}$'\n'; done
}

# read_role LINE: adds what that line of CLUSTER NODES says to the array roles of the caller; fails if the node is not
# one of ours or not well.
read_role() {
  local name flags slot
  split_at ' ' "$1"
  name=${NODE_NAMES[${PARTS[0]}]-}
  flags=${PARTS[2]-}
  [[ $name == C* ]] || return 1
  if ! node_runs "$name"; then
    ((${#PARTS[@]} <= 8)) # it has no slots
    return
  fi
  [[ ${PARTS[7]-} == connected && $flags != *fail* && $flags != *handshake* ]] || return 1
  [[ $flags != *slave* ]] || roles[$name]+=" follows ${NODE_NAMES[${PARTS[3]}]-}"
  for slot in "${PARTS[@]:8}"; do [[ $slot == '['* ]] || roles[$name]+=" has $slot"; done
}

# find_running_node: sets NODE to the first node of the cluster that runs.
find_running_node() {
  for NODE in "${CLUSTER[@]}"; do ! node_runs "$NODE" || return 0; done
  fail "no node runs"
}

# cluster_slot KEY: prints the slot of the key.
cluster_slot() { find_running_node && ask_node "$NODE" "cluster keyslot $1" && echo "$SAID"; }

# find_owner KEY [NODE]: sets OWNER to the primary that has the key's slot, in the opinion of NODE or of the first node
# that runs. After a fail-over, call await_cluster before.
find_owner() {
  local NODE=${2-} wanted line slot
  [[ -n $NODE ]] || find_running_node || return 1
  ask_node "$NODE" "cluster keyslot $1" 'cluster nodes' || fail "$NODE does not answer" || return 1
  split_at $'\n' "$SAID"
  wanted=${PARTS[0]}
  for line in "${PARTS[@]:1}"; do
    split_at ' ' "$line"
    [[ ${PARTS[2]} != *fail* ]] || continue
    for slot in "${PARTS[@]:8}"; do
      [[ $slot != '['* ]] || continue
      ((${slot%-*} <= wanted && wanted <= ${slot#*-})) || continue
      OWNER=${NODE_NAMES[${PARTS[0]}]}
      return
    done
  done
  fail "nobody has slot $wanted of $1"
}

# cluster_failover REPLICA [FORCE|TAKEOVER]: makes it a primary in place of its own, which becomes its replica if it
# runs; returns when all nodes that run agree.
cluster_failover() {
  local replica=$1
  say_ok "$replica" cluster failover "${@:2}" || fail "$replica cannot take over" || return 1
  wait_until 30 is_primary "$replica" && await_cluster
}
is_primary() { ask_node "$1" role && [[ $SAID == master* ]]; }

# await_takeover PRIMARY: after kill_server or pause_server; until one of its replicas has its slots and all nodes
# that run agree.
await_takeover() {
  ! node_runs "$1" || fail "$1 still runs" || return 1
  await_cluster
}

# cluster_migrate_slot SLOT FROM TO: moves the slot with its keys, in the three steps that follow. A test can stop
# between two of them: after the first, FROM answers ASK for a key that it does not have, TO takes it with ASKING.
# When some keys of a command are there and some are not, the answer is TRYAGAIN.
cluster_migrate_slot() {
  cluster_begin_migration "$@" && cluster_move_keys "$@" && cluster_finish_migration "$@"
}
cluster_begin_migration() {
  say_ok "$3" cluster setslot "$1" importing "${NODE_IDS[$2]}" &&
    say_ok "$2" cluster setslot "$1" migrating "${NODE_IDS[$3]}"
}
# cluster_move_keys SLOT FROM TO [KEY…]: these keys, or all of the slot.
cluster_move_keys() {
  local slot=$1 from=$2 to=$3 keys password=()
  shift 3
  [[ -z $NODE_PASSWORD ]] || password=(auth "$NODE_PASSWORD")
  keys=("$@")
  if ((!${#keys[@]})); then
    ask_node "$from" "cluster getkeysinslot $slot 1000" || return 1
    split_at $'\n' "$SAID"
    keys=("${PARTS[@]}")
  fi
  ((${#keys[@]})) || return 0
  local -n target_port=${to}_PORT
  say_ok "$from" migrate 127.0.0.1 "$target_port" '' 0 5000 "${password[@]}" keys "${keys[@]}"
}
# cluster_finish_migration SLOT FROM TO: first TO, then FROM, then the other primaries that run.
cluster_finish_migration() {
  local name
  say_ok "$3" cluster setslot "$1" node "${NODE_IDS[$3]}" || return 1
  say_ok "$2" cluster setslot "$1" node "${NODE_IDS[$3]}" || return 1
  for name in "${CLUSTER[@]}"; do
    if [[ $name != "$2" && $name != "$3" ]] && node_runs "$name" && is_primary "$name"; then
      say_ok "$name" cluster setslot "$1" node "${NODE_IDS[$3]}" || return 1
    fi
  done
  await_cluster
}
# say_ok NAME WORD…: the node answers OK to the command of these words.
say_ok() {
  local command
  printf -v command '"%s" ' "${@:2}"
  { ask_node "$1" "$command" && [[ $SAID == OK ]]; } || fail "$*: $SAID"
}

# ---- sentinels -------------------------------------------------------------------------------

# start_sentinels [--tls CERTIFICATE] [--password WORD] [--sentinel-password WORD] [REDIS OPTIONS…]: a primary D1, its
# replicas D2 and D3, and the sentinels S1, S2, S3, which know them as $SERVICE. Returns when the replicas are
# connected and every sentinel is connected to all others. Sets DATA and SENTINELS (names), DATA_PORTS,
# SENTINEL_PORTS, DATA_PIDS, SENTINEL_PIDS, SENTINEL_URI (without passwords), and per node what start_server sets.
start_sentinels() {
  local name try
  read_node_options "$@"
  DATA=(D1 D2 D3) SENTINELS=(S1 S2 S3)
  for try in 1 2 3 4 5; do
    describe_trio
    # A replica that does not reach its primary waits for 1 s.
    spawn_nodes D1 && spawn_nodes D2 D3 && spawn_nodes "${SENTINELS[@]}" && break
    for name in "${DATA[@]}"; do [[ -z $(pid_of "$name") ]] || gone "$(pid_of "$name")" || kill_server "$name"; done
    ((try < 5)) || fail "no sentinels:" "$(tail -n 3 "$SCRATCH"/server.[DS]*/log)" || return 1
  done
  hurry_sentinels
  DATA_PIDS=("$D1_PID" "$D2_PID" "$D3_PID")
  SENTINEL_PIDS=("$S1_PID" "$S2_PID" "$S3_PID")
  printf -v SENTINEL_URI ',127.0.0.1:%s' "${SENTINEL_PORTS[@]}"
  SENTINEL_URI=$SCHEME+sentinel://${SENTINEL_URI#,}/$SERVICE
  await_sentinels
}

# describe_trio: gives all six their ports and options, and the sentinels their IDs and files.
describe_trio() {
  local i name
  choose_ports 6
  make_folders "${DATA[@]}" "${SENTINELS[@]}"
  DATA_PORTS=("${FREE_PORTS[@]:0:3}")
  SENTINEL_PORTS=("${FREE_PORTS[@]:3}")
  describe_node D1 "${DATA_PORTS[0]}"
  for i in 1 2; do describe_node "D$((i + 1))" "${DATA_PORTS[i]}" --replicaof 127.0.0.1 "${DATA_PORTS[0]}"; done
  for name in "${SENTINELS[@]}"; do new_node_id "$name"; done
  for i in 0 1 2; do
    name=${SENTINELS[i]}
    describe_server "$name" "${SENTINEL_PORTS[i]}" # for the names of its files
    NODE_NAMES[${SENTINEL_PORTS[i]}]=$name
    write_sentinel_conf "$i" >"$SCRATCH/server.$name/sentinel.conf"
    local -n arguments=${name}_ARGS
    arguments=("$SCRATCH/server.$name/sentinel.conf" --sentinel)
  done
  for name in "${DATA[@]}" "${SENTINELS[@]}"; do declare -g "${name}_PID="; done
}

# write_sentinel_conf INDEX: prints the file of that sentinel. It knows all others from the beginning; to hear of them
# takes seconds.
write_sentinel_conf() {
  local i name=${SENTINELS[$1]} port=${SENTINEL_PORTS[$1]}
  if [[ -n $TLS_CERTIFICATE ]]; then
    printf 'port 0\ntls-port %s\n' "$port"
    printf '%s "%s"\n' "${TLS_OPTIONS[@]#--}"
  else
    echo "port $port"
  fi
  printf '%s\n' 'bind 127.0.0.1' "dir \"$SCRATCH/server.$name\"" "unixsocket \"$SCRATCH/server.$name/sock\"" \
    "sentinel myid ${NODE_IDS[$name]}" "sentinel monitor $SERVICE 127.0.0.1 ${DATA_PORTS[0]} 2" \
    "sentinel down-after-milliseconds $SERVICE $SENTINEL_DOWN_AFTER" "sentinel failover-timeout $SERVICE 2000"
  [[ -z $NODE_PASSWORD ]] || echo "sentinel auth-pass $SERVICE $NODE_PASSWORD"
  [[ -z $SENTINEL_PASSWORD ]] ||
    printf '%s\n' "requirepass $SENTINEL_PASSWORD" "sentinel sentinel-pass $SENTINEL_PASSWORD"
  for i in 1 2; do echo "sentinel known-replica $SERVICE 127.0.0.1 ${DATA_PORTS[i]}"; done
  for i in 0 1 2; do
    ((i == $1)) ||
      echo "sentinel known-sentinel $SERVICE 127.0.0.1 ${SENTINEL_PORTS[i]} ${NODE_IDS[${SENTINELS[i]}]}"
  done
}

# hurry_sentinels: they look more often, so that a fail-over takes less time. A sentinel that stood still for 2 s does
# nothing for 30 s: a loaded machine makes it do so, and a test has no time for that. Before Redis 7 they cannot.
hurry_sentinels() {
  local name
  for name in "${SENTINELS[@]}"; do
    ask_node "$name" "sentinel debug info-period 500 ping-period 200 ask-period 200 publish-period 500 \
      tilt-trigger 20000 tilt-period 1000"
  done
}

# await_sentinels: until all sentinels that run name the same primary, it runs and says that it is one, all other data
# servers that run are its replicas and connected, and every sentinel that runs is connected to those and to the
# other sentinels.
await_sentinels() { wait_until 30 sentinels_agree; }
sentinels_agree() {
  local name primary=''
  for name in "${SENTINELS[@]}"; do
    node_runs "$name" || continue
    find_primary "$name" || return 1
    [[ -z $primary || $PRIMARY == "$primary" ]] || return 1
    primary=$PRIMARY
    sentinel_sees_all "$name" "$primary" || return 1
  done
  is_primary "$primary" || return 1
  for name in "${DATA[@]}"; do
    [[ $name == "$primary" ]] || ! node_runs "$name" || follows "$name" "$primary" || return 1
  done
}

# follows REPLICA PRIMARY: it is connected to it.
follows() {
  local -n primary_port=${2}_PORT
  ask_node "$1" 'info replication' || return 1
  [[ $SAID == *role:slave* && $SAID == *master_port:"$primary_port"* && $SAID == *master_link_status:up* ]]
}

# sentinel_sees_all SENTINEL PRIMARY: it does not miss the primary, nor a replica or sentinel that runs.
sentinel_sees_all() {
  local name port='' word before='' seen=' '
  ask_node "$1" "sentinel "{master,replicas,sentinels}" $SERVICE" || return 1
  split_at $'\n' "$SAID"
  for word in "${PARTS[@]}"; do
    case $before in
    port) port=$word ;;
    # Valkey 9.1 leaves master_down, what another sentinel said of the old primary.
    flags) [[ $word == *[so]_down* || $word == *disconnected* || $word == *failover* ]] || seen+="$port " ;;
    esac
    before=$word
  done
  for name in "${DATA[@]}" "${SENTINELS[@]}"; do
    local -n node_port=${name}_PORT
    [[ $name == "$1" ]] || ! node_runs "$name" || [[ $seen == *" $node_port "* ]] || return 1
  done
}

# find_primary [SENTINEL]: sets PRIMARY to the primary, in the opinion of that or of the first sentinel that runs.
find_primary() {
  local sentinel=${1-} name
  if [[ -z $sentinel ]]; then
    for name in "${SENTINELS[@]}"; do ! node_runs "$name" || { sentinel=$name && break; }; done
  fi
  ask_node "$sentinel" "sentinel get-master-addr-by-name $SERVICE" || return 1
  split_at $'\n' "$SAID"
  [[ -n ${PARTS[1]-} ]] && PRIMARY=${NODE_NAMES[${PARTS[1]}]-}
}

# sentinel_failover: has the sentinels make a replica the primary while the primary runs; returns when all is settled.
sentinel_failover() { find_primary && wait_until 30 failover_accepted && await_other_primary "$PRIMARY"; }
failover_accepted() { ask_node S1 "sentinel failover $SERVICE" && [[ $SAID == OK ]]; }

# await_other_primary OLD: after the primary OLD was killed or paused; until another is, and all is settled.
await_other_primary() { wait_until 30 has_other_primary "$1" && await_sentinels; }
has_other_primary() { find_primary && [[ -n $PRIMARY && $PRIMARY != "$1" ]]; }
