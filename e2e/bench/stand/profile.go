// SPDX-License-Identifier: Apache-2.0

package stand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kumodo.io/convoy/e2e/bench/meter"
)

// Profile writes a profile of processor time and one of allocations of each server, while
// work runs again and again, for the duration each. The files are <dir>/<name>-<server>.cpu and
// .allocs, for go tool pprof.
func Profile(ctx context.Context, dir, name string, duration time.Duration, servers []Server, work func(context.Context) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder of profiles: %w", err)
	}
	seconds := max(1, int(duration.Seconds()))
	errs := make([]error, len(servers))
	done := make(chan struct{})
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() {
			base := filepath.Join(dir, name+"-"+s.Name)
			errs[i] = errors.Join(
				s.download(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), base+".cpu"),
				s.download(ctx, fmt.Sprintf("/debug/pprof/allocs?seconds=%d", seconds), base+".allocs"))
		})
	}
	go func() { group.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return errors.Join(errs...)
		default:
		}
		if err := work(ctx); err != nil {
			<-done
			return errors.Join(append(errs, err)...)
		}
	}
}

// Heap writes a profile of what each server holds, <dir>/<name>-<server>.heap, once its garbage
// is collected.
func Heap(ctx context.Context, dir, name string, servers []Server) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder of profiles: %w", err)
	}
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.download(ctx, "/debug/pprof/heap?gc=1", filepath.Join(dir, name+"-"+s.Name+".heap")))
	}
	return errors.Join(errs...)
}

func (s Server) download(ctx context.Context, path, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return err
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile of %s: %s", s.Name, response.Status)
	}
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, response.Body)
	return errors.Join(err, to.Close())
}

// LiveHeap collects the server's garbage and gives the bytes that are left.
func (s Server) LiveHeap(ctx context.Context) (float64, error) {
	if err := s.download(ctx, "/debug/pprof/heap?gc=1", os.DevNull); err != nil {
		return 0, err
	}
	return alive(ctx, s.Name, s.URL+"/metrics", s.Client)
}

func alive(ctx context.Context, name, url string, client *http.Client) (float64, error) {
	values, err := meter.Scrape(ctx, client, url, []meter.Counter{{Metric: "go_memstats_alloc_bytes"}})
	if err != nil {
		return 0, fmt.Errorf("read the metrics of %s: %w", name, err)
	}
	return values[0], nil
}
