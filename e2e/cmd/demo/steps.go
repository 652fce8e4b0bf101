// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/poll"
)

const (
	// stepTimeout bounds each step: far more than any takes, so that only what does not
	// happen at all fails.
	stepTimeout  = 3 * time.Minute
	pollInterval = 250 * time.Millisecond
)

// step is one thing that convoy does, shown and checked.
type step struct {
	title string
	do    func(*stage, context.Context) error
}

var steps = []step{
	{"Two Releases of one chart become Ready, one here and one on the edge cluster", (*stage).deliver},
	{"A change arrives by commit", (*stage).change},
	{"Drift made by hand is corrected", (*stage).drift},
	{"What leaves the source is pruned", (*stage).prune},
	{"A rollback is a change of the ref", (*stage).rollback},
	{"A chart that fails says what is wrong, and holds up nobody else", (*stage).fail},
}

// play shows every step; the first that is not seen ends it.
func (s *stage) play(ctx context.Context) error {
	s.began = time.Now()
	for n, step := range steps {
		fmt.Printf("\n━━ %d. %s\n", n+1, step.title)
		began := time.Now()
		stepCtx, cancel := context.WithTimeout(ctx, stepTimeout)
		err := step.do(s, stepCtx)
		cancel()
		if err != nil {
			_, _ = s.show(ctx, s.host(), "-n", "demo", "get", "releases", "-o", "wide")
			return fmt.Errorf("step %d (%s) was not seen: %w", n+1, step.title, err)
		}
		fmt.Printf("\n  ✓ seen after %.1f s\n", time.Since(began).Seconds())
	}
	fmt.Printf("\nAll %d steps were seen, in %.0f s.\n", len(steps), time.Since(s.began).Seconds())
	return nil
}

func (s *stage) deliver(ctx context.Context) error {
	if err := s.giveKubeconfig(ctx); err != nil {
		return err
	}
	if err := s.declare(ctx, "objects.yaml"); err != nil {
		return err
	}
	for _, release := range []string{"staging", "production"} {
		if err := s.awaitReady(ctx, release); err != nil {
			return err
		}
	}
	_, err := s.show(ctx, s.host(), "-n", "demo", "get", "releases")
	if err != nil {
		return err
	}
	if _, err := s.show(ctx, s.host(), "-n", "shop", "get", "deployments,services,configmaps,promotions,jobs"); err != nil {
		return err
	}
	_, err = s.show(ctx, s.edge(), "-n", "shop", "get", "deployments")
	return err
}

func (s *stage) change(ctx context.Context) error {
	values := "replicas: 5\ngreeting: Happy birthday\n"
	commit, err := s.repository.Commit(ctx, gitserver.Commit{
		Message: "Five replicas in production", Write: map[string]string{"shop/values-production.yaml": values},
	})
	if err != nil {
		return err
	}
	fmt.Printf("  committed %s: Five replicas in production\n", commit[:12])
	var exit *exec.ExitError
	out, err := s.show(ctx, s.host(), "convoy", "-n", "demo", "preview", "production")
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, "/spec/replicas: 3 -> 5") {
		return fmt.Errorf("the preview does not show the change: %v", err)
	}
	if _, err := s.show(ctx, s.host(), "convoy", "-n", "demo", "sync", "production", "--wait", "--timeout", "2m"); err != nil {
		return err
	}
	return s.awaitField(ctx, s.edge(), "deployment/shop", "{.status.readyReplicas}", "5")
}

func (s *stage) drift(ctx context.Context) error {
	if _, err := s.show(ctx, s.edge(), "-n", "shop", "scale", "deployment/shop", "--replicas=1"); err != nil {
		return err
	}
	if _, err := s.show(ctx, s.edge(), "-n", "shop", "delete", "service", "shop"); err != nil {
		return err
	}
	if err := s.awaitField(ctx, s.edge(), "deployment/shop", "{.spec.replicas}", "5"); err != nil {
		return err
	}
	if err := s.awaitField(ctx, s.edge(), "service/shop", "{.metadata.name}", "shop"); err != nil {
		return err
	}
	if err := s.awaitCondition(ctx, "production", "InSync", "True"); err != nil {
		return err
	}
	_, err := s.show(ctx, s.edge(), "-n", "shop", "get", "deployments,services")
	return err
}

func (s *stage) prune(ctx context.Context) error {
	commit, err := s.repository.Commit(ctx, gitserver.Commit{Message: "No more banner", Delete: []string{"shop/templates/banner.yaml"}})
	if err != nil {
		return err
	}
	fmt.Printf("  committed %s: No more banner\n", commit[:12])
	for _, release := range []string{"staging", "production"} {
		if _, err := s.show(ctx, s.host(), "convoy", "-n", "demo", "sync", release, "--wait", "--timeout", "2m"); err != nil {
			return err
		}
	}
	for _, kubeconfig := range []string{s.host(), s.edge()} {
		if err := s.awaitGone(ctx, kubeconfig, "configmap/shop-banner"); err != nil {
			return err
		}
	}
	_, err = s.show(ctx, s.edge(), "-n", "shop", "get", "configmaps")
	return err
}

func (s *stage) rollback(ctx context.Context) error {
	out, err := s.show(ctx, s.host(), "convoy", "-n", "demo", "history", "production")
	if err != nil {
		return err
	}
	first, err := s.firstRevision(ctx)
	if err != nil {
		return fmt.Errorf("%w in:\n%s", err, out)
	}
	patch := fmt.Sprintf(`{"spec":{"source":{"git":{"ref":{"branch":null,"commit":%q}}}}}`, first)
	if _, err := s.show(ctx, s.host(), "-n", "demo", "patch", "release", "production", "--type=merge", "-p", patch); err != nil {
		return err
	}
	if err := s.awaitField(ctx, s.edge(), "deployment/shop", "{.spec.replicas}", "3"); err != nil {
		return err
	}
	if err := s.awaitField(ctx, s.edge(), "configmap/shop-banner", "{.metadata.name}", "shop-banner"); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, "production"); err != nil {
		return err
	}
	_, err = s.show(ctx, s.host(), "-n", "demo", "get", "releases")
	return err
}

// firstRevision is the commit of the oldest entry in the history of production.
func (s *stage) firstRevision(ctx context.Context) (string, error) {
	out, err := s.run(ctx, s.host(), "-n", "demo", "get", "release", "production", "-o", "jsonpath={.status.history[-1:].revision}")
	if err != nil {
		return "", err
	}
	_, commit, ok := strings.Cut(out, "sha1:")
	if !ok {
		return "", fmt.Errorf("no commit in the revision %q", out)
	}
	return commit, nil
}

func (s *stage) fail(ctx context.Context) error {
	if err := s.declare(ctx, "broken.yaml"); err != nil {
		return err
	}
	if err := s.awaitCondition(ctx, "broken", "Ready", "False"); err != nil {
		return err
	}
	out, err := s.show(ctx, s.host(), "convoy", "-n", "demo", "status", "broken")
	if err != nil {
		return err
	}
	for _, want := range []string{"currency must be set", "configmap.yaml"} {
		if !strings.Contains(out, want) {
			return fmt.Errorf("the message does not say %q", want)
		}
	}
	for _, release := range []string{"staging", "production"} {
		if err := s.awaitReady(ctx, release); err != nil {
			return err
		}
	}
	_, err = s.show(ctx, s.host(), "-n", "demo", "get", "releases")
	return err
}

// awaitReady waits until the Release is Ready at its current generation.
func (s *stage) awaitReady(ctx context.Context, release string) error {
	return poll.Until(ctx, pollInterval, func(ctx context.Context) error {
		out, err := s.run(ctx, s.host(), "-n", "demo", "get", "release", release, "-o",
			`jsonpath={.metadata.generation} {range .status.conditions[?(@.type=="Ready")]}{.observedGeneration} {.status} {.reason}: {.message}{end}`)
		if err != nil {
			return errors.New(out)
		}
		fields := strings.SplitN(out, " ", 4)
		if len(fields) < 4 || fields[0] != fields[1] || fields[2] != "True" {
			return fmt.Errorf("Release %s is not Ready: %s", release, out)
		}
		return nil
	})
}

func (s *stage) awaitCondition(ctx context.Context, release, condition, want string) error {
	return s.await(ctx, s.host(), "demo", "release/"+release, `{.status.conditions[?(@.type=="`+condition+`")].status}`, want)
}

func (s *stage) awaitField(ctx context.Context, kubeconfig, object, path, want string) error {
	return s.await(ctx, kubeconfig, "shop", object, path, want)
}

func (s *stage) await(ctx context.Context, kubeconfig, namespace, object, path, want string) error {
	return poll.Until(ctx, pollInterval, func(ctx context.Context) error {
		out, err := s.run(ctx, kubeconfig, "-n", namespace, "get", object, "-o", "jsonpath="+path)
		if err != nil {
			return errors.New(strings.TrimSpace(out))
		}
		if out != want {
			return fmt.Errorf("%s: %s is %q, want %q", object, path, out, want)
		}
		return nil
	})
}

func (s *stage) awaitGone(ctx context.Context, kubeconfig, object string) error {
	return poll.Until(ctx, pollInterval, func(ctx context.Context) error {
		out, err := s.run(ctx, kubeconfig, "-n", "shop", "get", object, "--ignore-not-found", "-o", "name")
		if err == nil && strings.TrimSpace(out) == "" {
			return nil
		}
		return fmt.Errorf("%s is still there: %s", object, out)
	})
}
