// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// interval is how far moments are apart.
const interval = 30 * time.Second

// history is what was scraped.
type history struct {
	folder string
	db     *tsdb.DB
	engine *promql.Engine
	parser parser.Parser
	start  time.Time
	last   time.Time
}

// load reads the scrapes of a folder. The last moment is about now, so that metrics that tell
// times make sense.
func load(folder string) (*history, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.*.txt"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no <job>.<number>.txt", folder))
	}
	h := &history{parser: parser.NewParser(parser.Options{})}
	if h.folder, err = os.MkdirTemp("", "monitoring-"); err != nil {
		return nil, err
	}
	if h.db, err = tsdb.Open(h.folder, slog.New(slog.DiscardHandler), nil, tsdb.DefaultOptions(), nil); err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.folder))
	}
	h.engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, Parser: h.parser})
	if err := h.scrapes(files); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *history) close() {
	_ = h.db.Close()
	_ = os.RemoveAll(h.folder)
}

// scrapes adds the scrapes in the order of their numbers.
func (h *history) scrapes(files []string) error {
	byNumber := map[int][]string{}
	most := 0
	for _, file := range files {
		parts := strings.Split(filepath.Base(file), ".")
		n, err := strconv.Atoi(parts[1])
		if err != nil || len(parts) != 3 {
			return fmt.Errorf("%s is not called <job>.<number>.txt", file)
		}
		byNumber[n] = append(byNumber[n], file)
		most = max(most, n)
	}
	h.last = time.Now()
	h.start = h.last.Add(-time.Duration(most) * interval)
	for n := range most + 1 {
		for _, file := range byNumber[n] {
			if err := h.scrape(file, h.start.Add(time.Duration(n)*interval)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// scrape adds a scrape as Prometheus would.
func (h *history) scrape(file string, at time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	job := strings.SplitN(filepath.Base(file), ".", 2)[0]
	samples, err := textparse.New(text, "text/plain", nil, textparse.ParserOptions{})
	if err != nil {
		return err
	}
	appender := h.db.Appender(context.Background())
	add := func(series labels.Labels, value float64) error {
		builder := labels.NewBuilder(series)
		builder.Set("job", job)
		builder.Set("instance", job+"-0")
		_, err := appender.Append(0, builder.Labels(), at.UnixMilli(), value)
		return err
	}
	for {
		entry, err := samples.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		samples.Labels(&series)
		_, _, value := samples.Series()
		if err := add(series, value); err != nil {
			return fmt.Errorf("%s: %w", series, err)
		}
	}
	if err := add(labels.FromStrings(labels.MetricName, "up"), 1); err != nil {
		return err
	}
	return appender.Commit()
}

// ask evaluates an expression at the last moment.
func (h *history) ask(ctx context.Context, expression string) (promql.Vector, error) {
	query, err := h.engine.NewInstantQuery(ctx, h.db, nil, expression, h.last)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, err
	}
	return append(promql.Vector(nil), vector...), nil
}

// untold gives the selectors of an expression that select nothing.
func (h *history) untold(ctx context.Context, expression string) ([]string, error) {
	expr, err := h.parser.ParseExpr(expression)
	if err != nil {
		return nil, err
	}
	var untold []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		found, askErr := h.ask(ctx, "last_over_time("+selector.String()+"[1h])")
		if askErr != nil {
			err = errors.Join(err, askErr)
		}
		if askErr == nil && len(found) == 0 {
			untold = append(untold, selector.String())
		}
		return nil
	})
	return untold, err
}
