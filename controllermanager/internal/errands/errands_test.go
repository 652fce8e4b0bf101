// SPDX-License-Identifier: Apache-2.0

package errands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"kumodo.io/convoy/internal/controller/base"
)

// world has errands, and the keys that were enqueued for them.
type world struct {
	*WithT
	Errands

	mu           sync.Mutex
	calls, ended []string
}

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	w := &world{WithT: NewWithT(t)}
	w.Clock = testclock.NewFakePassiveClock(start)
	w.Enqueue = func(key types.NamespacedName, p base.Priority) { w.note(&w.calls, key.Name+" "+p.String()) }
	return w
}

func (w *world) note(list *[]string, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, what)
}

func (w *world) noted(list *[]string) func() []string {
	return func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(*list)
	}
}

// endless goes on until nobody wants it, or until it is let go.
func (w *world) endless(id string, goOn chan struct{}) Errand[string] {
	return Errand[string]{ID: id, Pending: id + " goes on", Do: func(ctx context.Context) (string, error) {
		select {
		case <-goOn:
			return "came of " + id, nil
		case <-ctx.Done():
			w.note(&w.ended, id)
			return "", ctx.Err()
		}
	}}
}

// pass wants errands, and gives what the last came to.
func (w *world) pass(key types.NamespacedName, wanted ...Errand[string]) (value string, err error) {
	ctx, pass := w.Begin(context.Background(), key, base.PriorityChange)
	for _, errand := range wanted {
		value, err = Do(ctx, errand)
	}
	pass.Finish()
	return value, err
}

func (w *world) heavy(id string) Errand[string] {
	errand := w.endless(id, nil)
	errand.Heavy = true
	return errand
}

var app = types.NamespacedName{Namespace: "team", Name: "app"}

func TestErrandGoesOnWithoutItsPass(t *testing.T) {
	w, goOn := newWorld(t), make(chan struct{})
	_, err := w.pass(app, w.endless("a", goOn))
	w.Expect(errors.Is(err, ErrUnfinished)).To(BeTrue())
	w.Expect(err).To(MatchError("a goes on"))
	unfinished, _ := errors.AsType[*Unfinished](err)
	w.Expect(unfinished.Since).To(Equal(start))
	w.Expect(w.noted(&w.calls)()).To(BeEmpty())

	close(goOn)
	w.Eventually(w.noted(&w.calls)).Should(Equal([]string{"app change"}))
	given := w.endless("a", nil)
	given.Patience = time.Minute
	w.Expect(w.pass(app, given)).To(Equal("came of a"), "it is not begun again")
	w.Expect(w.Wanting()).To(BeEmpty())
	_, err = w.pass(app, w.endless("a", nil))
	w.Expect(errors.Is(err, ErrUnfinished)).To(BeTrue(), "what came of it is given once")
}

func TestErrandsThatNobodyWantsEnd(t *testing.T) {
	for name, cause := range map[string]func(w *world){
		"another is wanted":  func(w *world) { _, _ = w.pass(app, w.endless("b", nil)) },
		"none is wanted":     func(w *world) { _, _ = w.pass(app) },
		"the key is gone":    func(w *world) { w.Forget(app) },
		"the key is another": func(w *world) { w.Retain(func(types.NamespacedName) bool { return false }) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, _ = w.pass(app, w.endless("a", nil))
			w.Expect(w.noted(&w.ended)()).To(BeEmpty())
			_, _ = w.pass(app, w.endless("a", nil))
			w.Expect(w.noted(&w.ended)()).To(BeEmpty(), "it is wanted still")
			cause(w)
			w.Eventually(w.noted(&w.ended)).Should(Equal([]string{"a"}))
			w.Expect(w.noted(&w.calls)()).To(BeEmpty())
		})
	}
}

// TestPassThatWaitedInVainIsGivenWhatIsInMemory has what needs no time, and what needs much.
func TestPassThatWaitedInVainIsGivenWhatIsInMemory(t *testing.T) {
	w := newWorld(t)
	known := Errand[string]{ID: "b", Patience: time.Hour, Do: func(context.Context) (string, error) { return "known", nil }}
	for range 3 {
		w.Expect(w.pass(app, w.endless("a", nil), known)).To(Equal("known"))
	}
	w.Expect(w.Count(app)).To(Equal(1))
	w.Expect(w.noted(&w.calls)()).To(BeEmpty())
}

func TestPanicIsAFailure(t *testing.T) {
	w := newWorld(t)
	_, err := w.pass(app, Errand[string]{ID: "a", Patience: time.Minute, Do: func(context.Context) (string, error) { panic("hunter2") }})
	w.Expect(err).To(MatchError("internal error: panic of type string"))
}

// TestManyHeavyOnesOfANamespaceWaitInLine leaves more than may go on. Light ones are not counted.
func TestManyHeavyOnesOfANamespaceWaitInLine(t *testing.T) {
	w := newWorld(t)
	key := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "team", Name: fmt.Sprint("r", i)}
	}
	inLine := func(err error) bool {
		unfinished, ok := errors.AsType[*Unfinished](err)
		return ok && unfinished.Since.IsZero()
	}
	for i := range MostHeavy + 2 {
		_, err := w.pass(key(i), w.endless("light", nil), w.heavy("heavy"))
		w.Expect(inLine(err)).To(Equal(i >= MostHeavy))
	}
	_, err := w.pass(types.NamespacedName{Namespace: "others", Name: "r"}, w.heavy("heavy"))
	w.Expect(inLine(err)).To(BeFalse())
	w.Expect(w.noted(&w.calls)()).To(BeEmpty())

	// One goes: the first in line is called, and when it does not want it any more, the next.
	w.Forget(key(3))
	w.Expect(w.noted(&w.calls)()).To(Equal([]string{fmt.Sprintf("r%d change", MostHeavy)}))
	w.Forget(key(MostHeavy))
	w.Expect(w.noted(&w.calls)()).To(HaveExactElements(Not(BeEmpty()), fmt.Sprintf("r%d change", MostHeavy+1)))
	_, err = w.pass(key(MostHeavy+1), w.heavy("heavy"))
	w.Expect(inLine(err)).To(BeFalse())

	w.Retain(func(types.NamespacedName) bool { return false })
	w.Expect(w.Errands.heavy).To(BeEmpty())
	w.Expect(w.of).To(BeEmpty())
	w.Expect(w.lines).To(BeEmpty())
}

// TestWhatWaitsInLineIsBegunOnce has many more keys than turns, whose passes come again and again
// while they wait.
func TestWhatWaitsInLineIsBegunOnce(t *testing.T) {
	const keys = 3*MostHeavy + 5
	w := newWorld(t)
	var begun []string
	goOn := map[string]chan struct{}{}
	key := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "team", Name: fmt.Sprintf("r%03d", i)}
	}
	wanted := func(i int) Errand[string] {
		name := key(i).Name
		errand := w.endless(name, goOn[name])
		do := errand.Do
		errand.Heavy = true
		errand.Do = func(ctx context.Context) (string, error) {
			w.note(&begun, name)
			return do(ctx)
		}
		return errand
	}
	for i := range keys {
		goOn[key(i).Name] = make(chan struct{})
	}
	for range 3 {
		for i := range keys {
			_, err := w.pass(key(i), wanted(i))
			w.Expect(errors.Is(err, ErrUnfinished)).To(BeTrue())
		}
	}
	for done := range keys {
		// Whoever was called comes, and so do some who were not.
		for i := range min(keys, done+MostHeavy+2) {
			if i >= done {
				_, _ = w.pass(key(i), wanted(i))
			}
		}
		w.Eventually(w.noted(&begun)).Should(HaveLen(min(keys, done+MostHeavy)))
		w.Expect(w.noted(&begun)()).To(ContainElement(key(done).Name), "in the order in which they came")
		close(goOn[key(done).Name])
		w.Eventually(func() (string, error) { return w.pass(key(done), wanted(done)) }).Should(Equal("came of " + key(done).Name))
	}
	w.Expect(w.noted(&begun)()).To(HaveLen(keys), "each once")
	w.Expect(w.noted(&w.ended)()).To(BeEmpty(), "none in vain")
	w.Expect(w.Wanting()).To(BeEmpty())
}

// TestWhatIsKnownDoesNotWaitInLine has a key whose errand needs no turn.
func TestWhatIsKnownDoesNotWaitInLine(t *testing.T) {
	w := newWorld(t)
	for i := range MostHeavy {
		_, _ = w.pass(types.NamespacedName{Namespace: "team", Name: fmt.Sprint("r", i)}, w.heavy("heavy"))
	}
	wanted := w.heavy("heavy")
	var slow chan struct{}
	known := false
	wanted.Known = func(context.Context) (string, bool, error) {
		if slow != nil {
			<-slow
		}
		return "known", known, nil
	}
	wanted.Patience = time.Minute
	_, err := w.pass(app, wanted)
	w.Expect(errors.Is(err, ErrUnfinished)).To(BeTrue())
	w.Expect(w.place(app)).To(BeZero())

	// It keeps its place while it takes long to find out whether it is known.
	slow, wanted.Patience = make(chan struct{}), 0
	_, err = w.pass(app, wanted)
	w.Expect(errors.Is(err, ErrUnfinished)).To(BeTrue())
	w.Expect(w.place(app)).To(BeZero())

	known, wanted.Patience = true, time.Minute
	close(slow)
	w.Eventually(func() (string, error) { return w.pass(app, wanted) }).Should(Equal("known"))
	w.Expect(w.place(app)).To(Equal(-1))
	w.Expect(w.Count(app)).To(BeZero())
}
