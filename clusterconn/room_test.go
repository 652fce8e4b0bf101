// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// lists are lists of a size, at the server of a target in a building.
func lists(t *testing.T, in *building, namespace string, size int) (open func() io.ReadCloser) {
	transport := &boundedTransport{
		server: "cluster.test", room: in.room(namespace),
		delegate: roundTripper(func(*http.Request) (*http.Response, error) {
			return answerOf(http.StatusOK, io.NopCloser(bytes.NewReader(make([]byte, size)))), nil
		}),
	}
	return func() io.ReadCloser {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster.test/api/v1/configmaps", nil)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		response, err := transport.RoundTrip(request)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return response.Body
	}
}

// readAll reads all of an answer, without an end until it is closed.
func readAll(body io.ReadCloser) (result chan error) {
	result = make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, body)
		result <- err
	}()
	return result
}

const (
	largeList = 1 << 20
	hugeList  = maxObject + 1<<20
)

func TestLargeAnswersWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		open := lists(t, newBuilding(), "web", largeList)
		var held []io.ReadCloser
		for range tiers[0].target {
			held = append(held, open())
			g.Expect(<-readAll(held[len(held)-1])).To(Succeed())
		}
		small := lists(t, newBuilding(), "web", 1<<10)()
		g.Expect(<-readAll(small)).To(Succeed(), "small ones need none")

		next := open()
		result := readAll(next)
		synctest.Wait()
		g.Expect(result).To(BeEmpty())
		g.Expect(held[0].Close()).To(Succeed())
		synctest.Wait()
		g.Expect(result).To(BeEmpty(), "it is decoded")
		time.Sleep(time.Second)
		g.Expect(<-result).To(Succeed())

		late := open()
		begun := time.Now()
		err := <-readAll(late)
		g.Expect(time.Since(begun)).To(Equal(requestTimeout))
		g.Expect(err).To(MatchError(ErrUnreachable))
		g.Expect(err).To(MatchError(ContainSubstring("no room for a large answer beside those of others within 1m30s")))

		for _, body := range append(held[1:], next, late) {
			g.Expect(body.Close()).To(Succeed())
			g.Expect(body.Close()).To(Succeed())
		}
		time.Sleep(time.Second)
		for range tiers[0].target {
			g.Expect(<-readAll(open())).To(Succeed(), "all of it was given back, once")
		}
	})
}

// Whoever has many Clusters in a namespace leaves half for others.
func TestRoomIsShared(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
		tier tier
	}{
		{"large answers", largeList, tiers[0]},
		{"huge answers", hugeList, tiers[1]},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				in := newBuilding()
				var results []chan error
				read := func(namespace string, times int) (done int) {
					for range times {
						body := lists(t, in, namespace, test.size)()
						t.Cleanup(func() { _ = body.Close() })
						results = append(results, readAll(body))
					}
					synctest.Wait()
					for _, result := range results {
						done += len(result)
					}
					results = nil
					return done
				}
				g.Expect(read("greedy", 2*test.tier.process)).To(Equal(test.tier.namespace))
				g.Expect(read("other", 1)).To(Equal(1))
			})
		})
	}
}

func TestAPlaceTakenWhileClosing(t *testing.T) {
	g := NewWithT(t)
	in := newBuilding()
	h := &hold{room: in.room("web")}
	g.Expect(h.close()).To(BeNil())
	g.Expect(h.grow(t.Context(), maxList*perByte)).To(MatchError(context.Canceled))
	g.Expect(in.process[0]).To(BeEmpty())
}

// A watch has what its events need, and keeps it only where its buffers have grown.
func TestRoomOfWatches(t *testing.T) {
	for _, test := range []struct {
		name  string
		event string
		want  int
	}{
		{"many small values", `{"a":[` + string(bytes.Repeat([]byte("{},"), 4<<10)) + `0]}`, 0},
		{"much text", `{"a":"` + string(bytes.Repeat([]byte("a"), 2*maxKept)) + `"}`, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			in := newBuilding()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			body := &boundedBody{
				ReadCloser: stalled{bytes.NewReader([]byte(test.event)), ctx}, ctx: ctx, cancel: cancel,
				late: &TimeoutError{}, bound: maxObject, meter: meter{events: true}, hold: hold{room: in.room("web")},
			}
			buffer := make([]byte, len(test.event))
			_, err := io.ReadFull(body, buffer)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(in.process[0]).To(HaveLen(1))
			cancel()
			_, err = body.Read(buffer)
			g.Expect(errors.Is(err, context.Canceled)).To(BeTrue())
			g.Expect(in.process[0]).To(HaveLen(test.want))
		})
	}
}
