// SPDX-License-Identifier: Apache-2.0

// Package inventory computes with the entries of a ReleaseInventory: what is written
// ahead, what has left the render, what has to be sent, and in which order objects are
// removed.
//
// Everything here is a pure function over slices: nothing is read or written, no input is
// changed, and results never share memory with inputs. An entry is identified by group,
// kind, namespace and name; the version only says how the object was last written.
package inventory
