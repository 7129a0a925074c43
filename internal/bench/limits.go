package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// limits measures what the machine itself can do, for scale: writing one file from start to end, with
// the fsync, and pushing bytes through one loopback connection.
func limits(dir string, r *report) error {
	write, err := sequentialWrite(filepath.Join(dir, "limit"), 1<<30)
	if err != nil {
		return err
	}
	loop, err := loopback(2 << 30)
	if err != nil {
		return err
	}
	for _, s := range r.systems {
		r.put("the machine: sequential write with fsync", s, write, "MB/s", neither)
		r.put("the machine: one loopback connection", s, loop, "MB/s", neither)
	}
	return nil
}

func sequentialWrite(path string, size int) (mbps float64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	chunk := make([]byte, 1<<20)
	start := time.Now()
	for n := 0; n < size; n += len(chunk) {
		if _, err := f.Write(chunk); err != nil {
			return 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	return float64(size) / 1e6 / time.Since(start).Seconds(), nil
}

func loopback(size int64) (mbps float64, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	got := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, struct{ io.Reader }{c})
			_ = c.Close()
		}
		got <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, err
	}
	chunk := make([]byte, 256<<10)
	start := time.Now()
	for n := int64(0); n < size; n += int64(len(chunk)) {
		if _, err := c.Write(chunk); err != nil {
			return 0, err
		}
	}
	_ = c.Close()
	if err := <-got; err != nil {
		return 0, err
	}
	return float64(size) / 1e6 / time.Since(start).Seconds(), nil
}
