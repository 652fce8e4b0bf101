// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/kustomize"
)

// environment names the variable that makes a process a worker; it says how many bytes of
// memory it may take.
const environment = "CONVOY_RENDER_WORKER"

// Prepare makes this process a worker if it was started to be one: then it does not return,
// and the process ends with the one that started it. Else it notes that this program can be
// started to be one.
func Prepare() {
	memory, err := strconv.ParseInt(os.Getenv(environment), 10, 64)
	if err != nil {
		prepared.Store(true)
		return
	}
	// The terminal sends these to all; the worker ends by itself.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	// What a library prints is not for the wire.
	wire := os.Stdout
	os.Stdout = os.Stderr
	// Templates can ask for the local time of a date, which must not be that of the host.
	time.Local = time.UTC
	debug.SetMaxStack(int(memory / stackShare))
	kustomize.Confine()
	confine(memory)
	serve(os.Stdin, wire, watch{most: uint64(memory), exit: os.Exit})
}

// stackShare is which part of the memory a stack may be. It is copied to grow, so for a
// moment it takes nearly twice of it.
const stackShare = 4

// server is the worker's end of the wire. What an engine asks, it asks from one goroutine.
type server struct {
	out     *gob.Encoder
	answers chan *answer
}

// serve works until there is nobody any more who sends orders.
func serve(orders io.Reader, reports io.Writer, w watch) {
	s := &server{out: gob.NewEncoder(reports), answers: make(chan *answer)}
	jobs := make(chan *job)
	go func() {
		// Whatever the job is at, the end of the orders is the end of the process.
		s.receive(gob.NewDecoder(orders), jobs)
		w.exit(0)
	}()
	for j := range jobs {
		stop := w.start()
		o := s.work(j)
		stop()
		o.Memory = taken()
		if err := s.out.Encode(report{Outcome: o}); err != nil {
			fmt.Fprintln(os.Stderr, "fatal error: the outcome cannot be sent:", err)
			w.exit(1)
		}
	}
}

func (s *server) receive(orders *gob.Decoder, jobs chan<- *job) {
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return
		}
		if o.Job != nil {
			jobs <- o.Job
		}
		if o.Answer != nil {
			s.answers <- o.Answer
		}
	}
}

// work does a job. Nothing that its engine keeps is kept for the next.
func (s *server) work(sent *job) (o *outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = &outcome{Panic: &panicked{Type: fmt.Sprintf("%T", p), Stack: string(debug.Stack())}}
		}
	}()
	ctx := context.Background()
	if sent.Time != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, sent.Time)
		defer cancel()
	}
	j, err := sent.engine(s)
	var output *engine.Output
	if err == nil {
		output, err = j.Run(ctx)
	}
	return outcomeOf(output, err)
}

// ask sends a question and waits for its answer. The error is that of the answer.
func (s *server) ask(q question) (*answer, error) {
	if err := s.out.Encode(report{Question: &q}); err != nil {
		return nil, err
	}
	a := <-s.answers
	return a, a.Fault.err()
}

// tell sends which file is read, or which mutation begins.
func (s *server) tell(place string) error { return s.out.Encode(report{Reads: place}) }
