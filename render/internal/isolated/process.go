// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"kumodo.io/convoy/render/internal/engine"
)

// prepared is true once Prepare was called: a program that does not would do what it is for
// when it is started to be a worker.
var prepared atomic.Bool

// process is a worker, seen from the process that started it. It is for one goroutine.
type process struct {
	cmd     *exec.Cmd
	out     *gob.Encoder
	in      *gob.Decoder
	orders  io.Closer
	reports io.Closer
	meter   *meter
	sent    *counter
	words   *words
	// fault is why the talk ended, if that was not for an outcome.
	fault error
	// ended is closed when the process has ended and cmd and words tell how.
	ended chan struct{}
	// idle ends the process when it was not needed for long.
	idle *time.Timer
}

// start starts a worker.
func start(memory int64) (*process, error) {
	if !prepared.Load() {
		return nil, errors.New("worker.Main must be called at the start of main")
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(path), words: &words{}, ended: make(chan struct{})}
	p.cmd.Args = []string{os.Args[0] + ": render worker"}
	p.cmd.Dir = "/"
	p.cmd.Env = environmentOf(memory)
	p.cmd.Stderr = p.words
	p.cmd.SysProcAttr = attributes()
	orders, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not by StdoutPipe, which is closed with the process though something be left in it.
	reports, written, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = written
	err = p.cmd.Start()
	_ = written.Close()
	if err != nil {
		_ = reports.Close()
		return nil, err
	}
	p.orders, p.reports, p.meter, p.sent = orders, reports, &meter{from: reports}, &counter{to: orders}
	p.out, p.in = gob.NewEncoder(p.sent), gob.NewDecoder(p.meter)
	go func() {
		_ = p.cmd.Wait() // how it ended is in the ProcessState
		close(p.ended)
	}()
	return p, nil
}

// environmentOf gives the environment of a worker: its limits, and the database of time zones and
// the settings of the runtime, by which templates may render otherwise.
func environmentOf(memory int64) []string {
	env := []string{
		environment + "=" + strconv.FormatInt(memory, 10),
		// The collector works harder before the limit is met.
		"GOMEMLIMIT=" + strconv.FormatInt(memory/5*4, 10),
		// A render is one goroutine; the other processor is for the collector.
		"GOMAXPROCS=2",
		"GOTRACEBACK=single",
	}
	for _, name := range []string{"ZONEINFO", "GODEBUG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// grace is how long a worker may take beyond its time to say where it was.
const grace = time.Second

// leastRead is how large a file may be in any case: as large as Helm lets one of a chart be.
const leastRead = 5 << 20

// beyond is how much more than the manifests the messages of one job may have.
const beyond = 64 << 20

// run does a job; when ctx ends before it, the worker ends. last is the file that was read
// last. Only a worker that is good can be given another job.
func (p *process) run(ctx context.Context, j engine.Job, memory int64) (o *outcome, last string, good bool) {
	sent, content := jobOf(j)
	if deadline, ok := ctx.Deadline(); ok {
		sent.Time = time.Until(deadline)
	}
	h := &host{content: content, lookup: j.Helm.Lookup, ready: j.Ready, most: max(j.OutputBytes, leastRead)}
	p.sent.bytes = 0
	stop := context.AfterFunc(ctx, func() { p.endLate(ctx) })
	o, err := p.talk(sent, h)
	if err != nil {
		p.fault = err
	}
	received := allowance(sent) - p.meter.left
	lean := o != nil && o.Memory < uint64(memory)/leanShare && max(received, p.sent.bytes) < maxLean
	return o, h.last, stop() && lean
}

// A worker is kept if it has taken no more than this part of its memory, and no message has
// left a large buffer on this side: to start another costs less than what lies idle.
const (
	leanShare = 4
	maxLean   = 16 << 20
)

// allowance is how much a worker may send for a job.
func allowance(j *job) int64 { return 4*j.OutputBytes + beyond }

// endLate ends the worker whose job has no time left; at once if nobody wants the outcome.
func (p *process) endLate(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		select {
		case <-p.ended:
		case <-time.After(grace):
		}
	}
	p.end()
}

func (p *process) talk(sent *job, h *host) (*outcome, error) {
	p.meter.left = allowance(sent)
	if err := p.out.Encode(order{Job: sent}); err != nil {
		return nil, err
	}
	for {
		var r report
		if err := p.in.Decode(&r); err != nil {
			return nil, err
		}
		switch {
		case r.Outcome != nil:
			return r.Outcome, nil
		case r.Question == nil:
			h.last = r.Reads
		default:
			if err := p.out.Encode(order{Answer: h.answer(r.Question)}); err != nil {
				return nil, err
			}
		}
	}
}

// end ends the worker, and waits for it.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // the error says that it has ended
	<-p.ended
	_ = p.reports.Close()
}

// alive tells whether the worker has not ended, nor been stopped, in which case it would take all
// the time of a job.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return !stopped(p.cmd.Process.Pid)
	}
}
