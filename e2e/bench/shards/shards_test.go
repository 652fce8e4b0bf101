// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/e2e/bench/report"
)

func TestFile(t *testing.T) {
	g := NewWithT(t)
	parts := strings.Split(file(releaseName(7), "3"), "---\n")
	g.Expect(parts).To(HaveLen(objectsOfOne))
	for n, part := range parts {
		var object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		g.Expect(yaml.Unmarshal([]byte(part), &object)).To(Succeed())
		g.Expect(object.Metadata.Name).To(Equal([]string{"release-0007-0", "release-0007-1"}[n]))
		g.Expect(object.Data).To(HaveKeyWithValue("value", "3"))
	}
}

func TestReleasesAreDividedEvenly(t *testing.T) {
	g := NewWithT(t)
	for _, quick := range []bool{true, false} {
		z := sizesOf(quick)
		of := map[int]int{}
		for n := range z.releases {
			of[shardOf(n)]++
		}
		g.Expect(of).To(HaveLen(shards))
		g.Expect(of).To(HaveEach(z.releases / shards))
		g.Expect(z.releases).To(BeNumerically(">=", 2*shards), "each shard has one for a commit and one for drift")
	}
	for _, count := range counts {
		g.Expect(shards % count).To(BeZero())
	}
}

func TestIndexes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(indexes([]string{"a", "b", "", "a"}, "a")).To(Equal([]int{0, 3}))
	g.Expect(indexes([]string{"a"}, "b")).To(BeEmpty())
}

func TestFollowed(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	seconds, err := (&trial{}).followed(t.Context(), time.Now().Add(-time.Minute), map[string]func(context.Context) error{
		"at once": func(context.Context) error { return nil },
		"later": func(context.Context) error {
			if asked++; asked < 3 {
				return errors.New("not yet")
			}
			return nil
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seconds).To(And(HaveLen(2), HaveKeyWithValue("at once", BeNumerically(">=", 60))))
	g.Expect(seconds["later"]).To(BeNumerically(">", seconds["at once"]))
	g.Expect(asked).To(Equal(3))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&trial{}).followed(ctx, time.Now(), map[string]func(context.Context) error{"never": func(context.Context) error { return errors.New("no") }})
	g.Expect(err).To(HaveOccurred())
}

func TestTimes(t *testing.T) {
	g := NewWithT(t)
	tr := &trial{report: &report.Report{}}
	tr.times("killed", "until", []float64{3, 1, 2})
	var values []float64
	for _, f := range tr.report.Figures {
		values = append(values, f.Value)
	}
	g.Expect(values).To(Equal([]float64{2, 1, 3}))
}
