// SPDX-License-Identifier: Apache-2.0

package render

// Waiting is how many places in lines there are.
func (r *Renderer) Waiting() int { return r.slots.Waiting() }
