// SPDX-License-Identifier: Apache-2.0

package blackhole

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/poll"
)

// patience bounds what a round waits for.
const patience = 5 * time.Minute

// measured are the samples of all rounds, by work.
type measured map[string]*samples

// samples are those of a work.
type samples struct {
	ours, reference       report.Samples // of each Release, milliseconds from its sync to its end
	oursAll, referenceAll report.Samples // of all of them together
}

func (s *samples) compare(work string) []report.Comparison {
	each := report.Compare(work, "a Release", "ms", s.ours, s.reference)
	all := report.Compare(work, "all", "ms", s.oursAll, s.referenceAll)
	each.Target, all.Target = target, target
	return []report.Comparison{each, all}
}

// figures tell of the seconds until the lost cluster had everything, from its return.
func figures(back []float64) []report.Figure {
	d := report.Describe(back)
	return []report.Figure{
		{Of: lost, What: "all applied after its return, median", Unit: "s", Value: d.P50},
		{Of: lost, What: "all applied after its return, at most", Unit: "s", Value: d.Max},
	}
}

// round measures both sides, which take turns in going first. back is how many seconds it
// took the lost cluster to have everything.
func (f *fleet) round(ctx context.Context, n int, m measured) (back float64, err error) {
	for side := range 2 {
		if (n+side)%2 == 0 {
			err = f.suspended(ctx, n, m)
		} else {
			back, err = f.losing(ctx, n, m)
		}
		if err != nil {
			return 0, fmt.Errorf("round %d: %w", n, err)
		}
	}
	return back, nil
}

// suspended measures while the tenth cluster is suspended.
func (f *fleet) suspended(ctx context.Context, n int, m measured) error {
	if err := f.suspend(ctx, true); err != nil {
		return err
	}
	for _, work := range []string{onset, outage} {
		each, all, err := f.sync(ctx, fmt.Sprintf("%d-suspended-%s", n, work))
		if err != nil {
			return err
		}
		m[work].reference, m[work].referenceAll = append(m[work].reference, each), append(m[work].referenceAll, all)
	}
	_, err := f.comeBack(ctx, func() error { return f.suspend(ctx, false) })
	return err
}

// losing measures while it loses packets.
func (f *fleet) losing(ctx context.Context, n int, m measured) (back float64, err error) {
	f.way.Lose()
	for _, work := range []string{onset, outage} {
		each, all, err := f.sync(ctx, fmt.Sprintf("%d-losing-%s", n, work))
		if err != nil {
			return 0, err
		}
		m[work].ours, m[work].oursAll = append(m[work].ours, each), append(m[work].oursAll, all)
		if err := f.awaitOutage(ctx); err != nil {
			return 0, err
		}
	}
	return f.comeBack(ctx, func() error { f.way.Deliver(); return nil })
}

func (f *fleet) suspend(ctx context.Context, yes bool) error {
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, yes)
	_, err := f.api.CoreV1alpha1().Clusters(namespace).Patch(ctx, lost, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// awaitOutage returns when the tenth cluster is known not to answer.
func (f *fleet) awaitOutage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return poll.Until(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		cluster, err := f.api.CoreV1alpha1().Clusters(namespace).Get(ctx, lost, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady); ready == nil || ready.Reason != corev1alpha1.ReasonUnreachable {
			return fmt.Errorf("the lost cluster says %v", ready)
		}
		return nil
	})
}

// sync syncs all Releases to a new commit, those of the tenth cluster first, and gives how
// long it took each of those of the nine, and all of them, in milliseconds.
func (f *fleet) sync(ctx context.Context, value string) (each, all []float64, err error) {
	commit, err := f.commit(ctx, value)
	if err != nil {
		return nil, nil, err
	}
	progress, err := f.follow(ctx, commit)
	if err != nil {
		return nil, nil, err
	}
	defer progress.Stop()
	for _, name := range f.lost {
		if err := f.request(ctx, name); err != nil {
			return nil, nil, err
		}
	}
	begun := map[string]time.Time{}
	for _, name := range f.others {
		begun[name] = time.Now()
		if err := f.request(ctx, name); err != nil {
			return nil, nil, err
		}
	}
	ended, err := progress.until(ctx, f.others)
	if err != nil {
		return nil, nil, err
	}
	last := time.Duration(0)
	for _, name := range f.others {
		each = append(each, milliseconds(ended[name].Sub(begun[name])))
		last = max(last, ended[name].Sub(begun[f.others[0]]))
	}
	return each, []float64{milliseconds(last)}, nil
}

// comeBack ends what holds the tenth cluster up and waits until it has everything. It gives
// how many seconds that took.
func (f *fleet) comeBack(ctx context.Context, end func() error) (float64, error) {
	commit, err := f.repo.Head(ctx, gitserver.DefaultBranch)
	if err != nil {
		return 0, err
	}
	progress, err := f.follow(ctx, commit)
	if err != nil {
		return 0, err
	}
	defer progress.Stop()
	begun := time.Now()
	if err := end(); err != nil {
		return 0, err
	}
	if _, err := progress.until(ctx, f.lost); err != nil {
		return 0, err
	}
	return time.Since(begun).Seconds(), nil
}

func (f *fleet) request(ctx context.Context, name string) error {
	_, err := f.api.CoreV1alpha1().Releases(namespace).Sync(ctx, name, corev1alpha1.ReleaseSyncOptions{})
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// progress tells which Releases have a commit applied.
type progress struct {
	watch.Interface
	commit string
}

func (f *fleet) follow(ctx context.Context, commit string) (*progress, error) {
	w, err := f.api.CoreV1alpha1().Releases(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("watch the Releases: %w", err)
	}
	return &progress{Interface: w, commit: commit}, nil
}

// until waits for Releases, and gives when each of them was seen to be done.
func (p *progress) until(ctx context.Context, names []string) (map[string]time.Time, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	missing, done := map[string]string{}, map[string]time.Time{}
	for _, name := range names {
		missing[name] = "was not seen"
	}
	for len(missing) > 0 {
		select {
		case event, open := <-p.ResultChan():
			release, ok := event.Object.(*corev1alpha1.Release)
			if !open || !ok {
				return nil, errors.New("the watch of the Releases has ended")
			}
			if _, wanted := missing[release.Name]; !wanted {
				continue
			}
			applied := release.Status.Applied
			if applied != nil && strings.HasSuffix(applied.Revision, p.commit) {
				done[release.Name] = time.Now()
				delete(missing, release.Name)
				continue
			}
			missing[release.Name] = fmt.Sprint(release.Status.Conditions)
		case <-timeout.C:
			return nil, fmt.Errorf("%d Releases do not come to an end: %v", len(missing), missing)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return done, nil
}
