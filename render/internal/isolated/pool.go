// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/engine"
)

// Pool has the workers of a process. A worker is started for a job when none is idle, and
// kept until it was idle for a while; whoever bounds the jobs bounds the workers.
type Pool struct {
	memory int64
	rest   time.Duration

	mu   sync.Mutex
	idle []*process // the last used last

	ended [4]atomic.Int64 // by the place in Reasons
}

// Reasons are why workers end.
var Reasons = []Reason{Time, Memory, Stack, Crash}

// resting is how long a worker is kept idle.
const resting = time.Minute

// NewPool makes a Pool whose workers may take some memory each, in bytes.
func NewPool(memory int64) *Pool { return &Pool{memory: memory, rest: resting} }

// Ended counts the workers that ended for a reason.
func (p *Pool) Ended(reason Reason) int64 { return p.ended[slices.Index(Reasons, reason)].Load() }

// Run runs a job in a worker as Job.Run does here. Errors are those of the engine, with their
// texts and those errors in their chains that the render package tells apart; *EndedError when
// the engine took too much; *PanickedError when it panicked; *BrokenError when this process is at fault. When ctx is cancelled,
// the worker ends; when its deadline passes, the worker may say for a moment where it was.
func (p *Pool) Run(ctx context.Context, j engine.Job) (*engine.Output, error) {
	for last := false; ; last = true {
		worker, err := p.take(last)
		if err != nil {
			return nil, &BrokenError{fmt.Errorf("starting a worker: %w", err)}
		}
		o, file := p.work(ctx, worker, j)
		switch {
		case o != nil && o.Panic != nil:
			return nil, Panicked(ctx, j, file, o.Panic.Type, o.Panic.Stack)
		case o != nil:
			return o.output()
		case errors.Is(ctx.Err(), context.Canceled):
			return nil, ctx.Err()
		}
		ended := worker.endedError(ctx, p.memory)
		ended.Place = placeOf(j, file)
		p.ended[slices.Index(Reasons, ended.Reason)].Add(1)
		klog.FromContext(ctx).Info("A worker ended", "reason", ended.Reason, "state", worker.cmd.ProcessState.String(), "place", ended.Place, "fault", worker.fault, "lastWords", ended.LastWords)
		// Somebody may have ended it who did not mean this render.
		if ended.Reason != Crash || last {
			return nil, ended
		}
	}
}

// work lets a worker do a job, and keeps it or ends it, whatever becomes of the job.
func (p *Pool) work(ctx context.Context, worker *process, j engine.Job) (o *outcome, last string) {
	good := false
	defer func() {
		if good && o.Panic == nil { // which leaves things half done
			p.put(worker)
		} else {
			worker.end()
		}
	}()
	o, last, good = worker.run(ctx, j, p.memory)
	return o, last
}

// placeOf says what was rendered, by the file that was read last, or the mutation that began. A chart is read as a whole
// before anything is made of it.
func placeOf(j engine.Job, last string) string {
	switch {
	case j.Mutate != nil && last == "":
		return "the mutations"
	case j.Mutate != nil:
		return fmt.Sprintf("mutation %q", last)
	case j.Type == corev1alpha1.RenderHelm:
		return fmt.Sprintf("the chart in %q", j.Path)
	case last == "":
		return fmt.Sprintf("the content of %q", j.Path)
	}
	return fmt.Sprintf("the content of %q, with %s read last", j.Path, last)
}

// take gives an idle worker; a new one when there is none, or if it is asked for.
func (p *Pool) take(fresh bool) (*process, error) {
	for !fresh {
		worker := p.pop()
		if worker == nil {
			break
		}
		if worker.alive() {
			return worker, nil
		}
		worker.end()
	}
	return start(p.memory)
}

func (p *Pool) pop() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	worker := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	worker.idle.Stop()
	return worker
}

// put keeps a worker for the next job.
func (p *Pool) put(worker *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, worker)
	worker.idle = time.AfterFunc(p.rest, func() { p.retire(worker) })
}

// retire ends a worker, unless it was taken meanwhile.
func (p *Pool) retire(worker *process) {
	p.mu.Lock()
	at := slices.Index(p.idle, worker)
	if at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		worker.end()
	}
}
