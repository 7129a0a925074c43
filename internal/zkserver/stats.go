package zkserver

// stats are what the four-letter words report. They belong to apply.
type stats struct {
	received int64 // requests
	expired  int64 // sessions
	latency  latency
}

// latency is from a request's arrival until its answer is let out, in ms.
type latency struct{ least, most, total, count int64 }

func (l *latency) add(ms int64) {
	if l.count == 0 || ms < l.least {
		l.least = ms
	}
	l.most = max(l.most, ms)
	l.total += ms
	l.count++
}

func (l latency) average() float64 {
	if l.count == 0 {
		return 0
	}
	return float64(l.total) / float64(l.count)
}

// answered counts the requests of one connection whose answers are let out now (µs).
func (st *stats) answered(c *conn, now int64) {
	for _, at := range c.began {
		ms := (now - at) / 1000
		c.latency.add(ms)
		st.latency.add(ms)
	}
	c.began = c.began[:0]
}
