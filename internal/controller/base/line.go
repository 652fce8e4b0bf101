// SPDX-License-Identifier: Apache-2.0

package base

import "container/list"

// line holds the waiting keys of one priority. The groups take turns; inside a group the
// first to come is the first to go.
type line[K comparable] struct {
	turns  *list.List // of *groupLine[K], the group whose turn is next in front
	groups map[string]*list.Element
}

// groupLine is the waiting keys of one group, never empty.
type groupLine[K comparable] struct {
	name string
	keys *list.List // of *entry[K]
}

func newLine[K comparable]() line[K] {
	return line[K]{turns: list.New(), groups: map[string]*list.Element{}}
}

// push puts the entry at the end of its group's line and returns its place there.
func (l *line[K]) push(e *entry[K]) *list.Element {
	turn := l.groups[e.group]
	if turn == nil {
		turn = l.turns.PushBack(&groupLine[K]{name: e.group, keys: list.New()})
		l.groups[e.group] = turn
	}
	return turn.Value.(*groupLine[K]).keys.PushBack(e)
}

// first is the first entry of the first group that may be worked on; nil if there is none.
// It stays in line.
func (l *line[K]) first(mayWork func(group string) bool) *entry[K] {
	for turn := l.turns.Front(); turn != nil; turn = turn.Next() {
		group := turn.Value.(*groupLine[K])
		if mayWork(group.name) {
			return group.keys.Front().Value.(*entry[K])
		}
	}
	return nil
}

// remove takes the entry out; if it was the first of its group, that was the group's turn.
func (l *line[K]) remove(e *entry[K]) {
	turn := l.groups[e.group]
	keys := turn.Value.(*groupLine[K]).keys
	wasFirst := keys.Front() == e.place
	keys.Remove(e.place)
	switch {
	case keys.Len() == 0:
		l.turns.Remove(turn)
		delete(l.groups, e.group)
	case wasFirst:
		l.turns.MoveToBack(turn)
	}
}

// timers is a heap (container/heap) of entries by the time at which they are due.
type timers[K comparable] []*entry[K]

func (t timers[K]) Len() int           { return len(t) }
func (t timers[K]) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timers[K]) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i, j
}

// Push appends an entry; it is for container/heap.
func (t *timers[K]) Push(x any) {
	e := x.(*entry[K])
	e.timer = len(*t)
	*t = append(*t, e)
}

// Pop takes the last entry off; it is for container/heap.
func (t *timers[K]) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	e.timer = -1
	return e
}
