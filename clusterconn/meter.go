// SPDX-License-Identifier: Apache-2.0

package clusterconn

import "time"

// What JSON takes in memory at most once it is decoded, in bytes, while it is decoded included.
const (
	perByte    = 8   // the text itself, of which there are copies
	perObject  = 512 // an object, also an empty one: the structs that lists are made of
	perArray   = 64
	perElement = 32 // one more of an object or array

	// decodingPace is how much of that is decoded in a second, by a processor that is shared.
	decodingPace = 128 << 20
)

// meter weighs JSON as it is read: by its length, and by what its values become. A few bytes of
// small ones take fifty times as much.
type meter struct {
	events            bool  // there are several values, of which each is weighed by itself
	weight            int64 // of the answer, or of the event that is not complete
	bytes             int64 // of the same
	most, largest     int64 // weight and bytes of the largest event
	depth             int
	inString, escaped bool
}

// add weighs more of the answer. It gives the weight of all of it, or that of the heaviest event
// of those that end or are in data.
func (m *meter) add(data []byte) int64 {
	heaviest := int64(0)
	for _, c := range data {
		m.bytes++
		m.weight += perByte
		switch {
		case m.escaped:
			m.escaped = false
		case m.inString:
			m.escaped, m.inString = c == '\\', c != '"'
		case c == '"':
			m.inString = true
		case c == ',':
			m.weight += perElement
		case c == '{':
			m.weight += perObject
			m.depth++
		case c == '[':
			m.weight += perArray
			m.depth++
		case c == '}' || c == ']':
			// Line ends do not tell where an event ends: they may be within one.
			if m.depth = max(m.depth-1, 0); m.depth == 0 && m.events {
				heaviest = max(heaviest, m.weight)
				m.note()
				m.weight, m.bytes = 0, 0
			}
		}
	}
	m.note()
	return max(heaviest, m.weight)
}

func (m *meter) note() {
	m.most, m.largest = max(m.most, m.weight), max(m.largest, m.bytes)
}

// betweenEvents tells that all events that began have ended.
func (m *meter) betweenEvents() bool { return m.events && m.depth == 0 && !m.inString }

// decodingTime is how long it takes to decode what was read.
func (m *meter) decodingTime() time.Duration {
	return time.Duration(float64(m.most) / decodingPace * float64(time.Second))
}
