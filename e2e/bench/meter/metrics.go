// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Counter is something that a process counts in its metrics.
type Counter struct {
	What string // as the report calls it
	Unit string
	// Scale is what a counted unit is of Unit; 0 is 1.
	Scale  float64
	Metric string
	// Labels must be there with these values; others do not matter. All series that have
	// them are summed up.
	Labels map[string]string
}

// Allocations are the counters of what a Go program allocates.
func Allocations() []Counter {
	return []Counter{
		{What: "allocated", Unit: "KiB", Scale: 1.0 / 1024, Metric: "go_memstats_alloc_bytes_total"},
		{What: "allocations", Metric: "go_memstats_mallocs_total"},
	}
}

// Scrape asks a process for its metrics and gives the counters' values, in their order.
func Scrape(ctx context.Context, client *http.Client, url string, counters []Counter) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return sum(response.Body, counters)
}

// sum reads metrics in Prometheus' text format.
func sum(text io.Reader, counters []Counter) ([]float64, error) {
	values := make([]float64, len(counters))
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		for i, c := range counters {
			rest, ok := strings.CutPrefix(line, c.Metric)
			if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
				continue
			}
			labels, value, err := series(rest)
			if err != nil {
				return nil, fmt.Errorf("read the metric %q: %w", line, err)
			}
			if has(labels, c.Labels) {
				values[i] += value * cmp.Or(c.Scale, 1)
			}
		}
	}
	return values, lines.Err()
}

// series reads what follows the name of a metric: {label="value",…} value.
func series(text string) (map[string]string, float64, error) {
	labels := map[string]string{}
	if rest, ok := strings.CutPrefix(text, "{"); ok {
		for !strings.HasPrefix(rest, "}") {
			name, after, ok := strings.Cut(strings.TrimPrefix(rest, ","), "=")
			if !ok {
				return nil, 0, fmt.Errorf("a label without a value: %q", rest)
			}
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return nil, 0, err
			}
			if labels[name], err = strconv.Unquote(quoted); err != nil {
				return nil, 0, err
			}
			rest = after[len(quoted):]
		}
		text = rest[1:]
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return nil, 0, io.ErrUnexpectedEOF
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return labels, value, err
}

func has(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}
