package cli

import (
	"fmt"
	"sync"
	"time"
)

// warnUnreachable says once per broker that it cannot be reached: the tools go on trying,
// for a minute by default, and a wait without a word looks like a hang. The words are
// those of Kafka's NetworkClient, which repeats them at every attempt.
func warnUnreachable(e *env) func(addr string, err error) {
	var mu sync.Mutex
	warned := map[string]bool{}
	return func(addr string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if warned[addr] {
			return
		}
		warned[addr] = true
		fmt.Fprintf(e.stderr, "[%s] WARN Connection to %s could not be established: %v. Broker may not be available; trying on.\n",
			time.Now().Format("2006-01-02 15:04:05,000"), addr, err)
	}
}
