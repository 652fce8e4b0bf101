// SPDX-License-Identifier: Apache-2.0

package memo

// Callers is how many wait for the work of a key.
func (m *Memo[K, V]) Callers(key K) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.flights[key]; ok {
		return f.callers
	}
	return 0
}
