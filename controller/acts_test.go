package controller

import (
	"context"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// act does one command of a story and returns what it answers, if anything.
func (r *rig) act(line string) (answer string) {
	f := strings.Fields(line)
	do := acts[f[0]]
	if do == nil {
		r.t.Fatalf("no command %q", f[0])
	}
	return do(r, f[1:])
}

// silent makes a command of something that answers nothing.
func silent(do func(r *rig, args []string)) func(*rig, []string) string {
	return func(r *rig, args []string) string { do(r, args); return "" }
}

// perBroker makes a command of something that is done to each broker named.
func perBroker(do func(r *rig, id int32)) func(*rig, []string) string {
	return silent(func(r *rig, args []string) {
		for _, a := range args {
			do(r, atoi(r.t, a))
		}
	})
}

// change makes a command that changes how a broker behaves.
func change(do func(b *fakeBroker)) func(*rig, []string) string {
	return perBroker(func(r *rig, id int32) {
		r.mu.Lock()
		defer r.mu.Unlock()
		do(r.brokers[id])
	})
}

// acts are the commands of the stories.
var acts = map[string]func(r *rig, args []string) (answer string){
	// Brokers: start = register + stand for election.
	"start":    perBroker(func(r *rig, id int32) { r.start(id); synctest.Wait() }),
	"register": perBroker(func(r *rig, id int32) { r.register(id) }),
	"stand":    perBroker(func(r *rig, id int32) { r.stand(r.brokers[id]); synctest.Wait() }),
	"kill":     perBroker((*rig).kill),
	"stop":     perBroker((*rig).stopCleanly),
	"bounce":   perBroker((*rig).bounce),
	"freeze":   perBroker((*rig).kill),                                            // SIGSTOP until the session is over
	"thaw":     perBroker((*rig).thaw),                                            // SIGCONT: it finds its session expired and makes a new one
	"hold":     perBroker(func(r *rig, id int32) { r.brokers[id].client.hold() }), // it hears nothing from ZooKeeper
	"release":  perBroker(func(r *rig, id int32) { r.brokers[id].client.release() }),

	// What brokers do with requests.
	"mute":      change(func(b *fakeBroker) { b.mute = true }), // take them and do not answer
	"unmute":    change(func(b *fakeBroker) { b.mute = false }),
	"refuse":    change(func(b *fakeBroker) { b.refuse = true }), // do not listen
	"listen":    change(func(b *fakeBroker) { b.refuse = false }),
	"dir-works": change(func(b *fakeBroker) { clear(b.failed) }),
	// dir-fails BROKER PARTITION...: a log directory with these; the broker reports it.
	"dir-fails": silent(func(r *rig, args []string) {
		r.failDir(args)
		op := zk.CreateOp(zkpaths.LogDirEventPrefix, zkpaths.EncodeLogDirEvent(atoi(r.t, args[0])))
		op.Sequential = true
		r.tree.write("broker-"+args[0], op)
	}),
	// The same without a report.
	"answers-storage-error": silent((*rig).failDir),
	// answers-lai BROKER CODE: the top-level error of its LeaderAndIsr answers.
	"answers-lai": silent(func(r *rig, args []string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.brokers[atoi(r.t, args[0])].topError = int16(atoi(r.t, args[1]))
	}),

	// Topics: topic NAME 0=1,2 1=2,1; partitions adds some.
	"topic":      silent(func(r *rig, args []string) { r.createTopic(args[0], args[1:]...) }),
	"partitions": silent(func(r *rig, args []string) { r.createTopic(args[0], args[1:]...) }),
	// state t-0 leader 1 epoch 2 isr 1,2 version 3: by hand, before the story begins.
	"state": silent(func(r *rig, args []string) {
		s := zkpaths.PartitionState{ControllerEpoch: 1, Leader: atoi(r.t, args[2]), LeaderEpoch: atoi(r.t, args[4]), ISR: ids(r.t, args[6])}
		r.setState(partitionNamed(r.t, args[0]), s, atoi(r.t, args[8]))
	}),
	// isr t-0 1,2 [ce 3]: a leader's own write, with the controller epoch it was told.
	"isr": silent(func(r *rig, args []string) {
		epoch := int32(-1)
		if len(args) == 4 {
			epoch = atoi(r.t, args[3])
		}
		r.setISR(partitionNamed(r.t, args[0]), ids(r.t, args[1]), epoch)
	}),
	"notify": silent(func(r *rig, args []string) { r.notifyISR(r.partitionsNamed(args)) }),
	"unclean": silent(func(r *rig, args []string) {
		config := zkpaths.EncodeEntityConfig(map[string]string{uncleanElectionKey: "true"})
		r.tree.write("tool", zk.CreateOp(zkpaths.TopicConfig(args[0]), config))
		r.active().controller.EnableUncleanElection(args[0])
	}),
	"preferred": silent(func(r *rig, args []string) {
		data := zkpaths.EncodePreferredElection(znodePartitions(r.partitionsNamed(args)))
		r.tree.write("tool", zk.CreateOp(zkpaths.PreferredReplicaElection, data))
	}),

	// shutdown BROKER asks the controller; shutdown-at ASKED BROKER asks that one.
	"shutdown":    func(r *rig, args []string) string { return r.askShutdown(r.active(), args[0]) },
	"shutdown-at": func(r *rig, args []string) string { return r.askShutdown(r.brokers[atoi(r.t, args[0])], args[1]) },

	// write PATH [DATA], unwrite PATH: anything, by hand.
	"write": silent(func(r *rig, args []string) {
		var data []byte
		if len(args) > 1 {
			data = []byte(args[1])
		}
		r.tree.write("hand", zk.CreateOp(args[0], data))
	}),
	"unwrite": silent(func(r *rig, args []string) { r.tree.write("hand", zk.DeleteOp(args[0], zk.AnyVersion)) }),

	"set":  silent((*rig).setConfig), // for brokers that start later
	"wait": silent((*rig).wait),
}

// stopCleanly: the controller resigns, the session closes.
func (r *rig) stopCleanly(id int32) {
	if c := r.brokers[id].controller; c != nil {
		c.Stop()
	}
	r.kill(id)
}

// bounce: gone and back before the controller looks.
func (r *rig) bounce(id int32) {
	active := r.active()
	active.client.hold()
	r.kill(id)
	r.register(id)
	active.client.release()
}

func (r *rig) thaw(id int32) {
	b := r.brokers[id]
	r.mu.Lock()
	b.alive = true
	r.mu.Unlock()
	b.client.release()
	b.client.newSession()
}

func (r *rig) failDir(args []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.partitionsNamed(args[1:]) {
		r.brokers[atoi(r.t, args[0])].failed[p] = true
	}
}

func (r *rig) askShutdown(asked *fakeBroker, who string) string {
	b := r.brokers[atoi(r.t, who)]
	remaining, err := asked.controller.ControlledShutdown(context.Background(), b.id, b.epoch())
	return fmt.Sprintf("the answer: still leads %v, error %v\n", remaining, err)
}

func (r *rig) setConfig(args []string) {
	switch on := args[1] == "true"; args[0] {
	case "auto.leader.rebalance.enable":
		r.cfg.AutoRebalance = on
	case "delete.topic.enable":
		r.cfg.DeleteTopicEnable = on
	default:
		r.t.Fatalf("no config %s", args[0])
	}
}

// wait lets the bubble's clock go on.
func (r *rig) wait(args []string) {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(d)
}

func (r *rig) partitionsNamed(names []string) (ps []topic.Partition) {
	for _, n := range names {
		ps = append(ps, partitionNamed(r.t, n))
	}
	return ps
}
