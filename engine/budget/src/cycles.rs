//! Cycles of a graph.

/// The sets of nodes that reach each other, of two nodes or more (Tarjan's algorithm).
pub(crate) fn cycles(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEVER: usize = usize::MAX;
    let mut number = vec![NEVER; next.len()];
    let mut lowest = vec![NEVER; next.len()];
    let mut on_stack = vec![false; next.len()];
    let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    for root in 0..next.len() {
        if number[root] != NEVER {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.last_mut() {
            let (node, at) = (*node, *edge);
            if at == 0 && number[node] == NEVER {
                (number[node], lowest[node]) = (count, count);
                count += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = next[node].get(at) {
                *edge += 1;
                if number[to] == NEVER {
                    path.push((to, 0));
                } else if on_stack[to] {
                    lowest[node] = lowest[node].min(number[to]);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                lowest[*before] = lowest[*before].min(lowest[node]);
            }
            if lowest[node] == number[node] {
                let start = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                let knot = stack.split_off(start);
                knot.iter().for_each(|node| on_stack[*node] = false);
                if knot.len() > 1 {
                    found.push(knot);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::cycles;

    fn sorted(next: &[&[usize]]) -> Vec<Vec<usize>> {
        let next: Vec<Vec<usize>> = next.iter().map(|to| to.to_vec()).collect();
        let mut found = cycles(&next);
        found.iter_mut().for_each(|knot| knot.sort_unstable());
        found.sort_unstable();
        found
    }

    #[test]
    fn a_graph_without_cycles_has_none() {
        assert!(sorted(&[&[1, 2], &[3], &[3], &[]]).is_empty());
        assert!(sorted(&[]).is_empty());
    }

    #[test]
    fn each_cycle_is_found_once_and_whole() {
        // 0 → 1 → 2 → 1, 2 → 3, 3 ↔ 4 → 5
        let found = sorted(&[&[1], &[2], &[1, 3], &[4], &[3, 5], &[]]);
        assert_eq!(found, [vec![1, 2], vec![3, 4]]);
        assert_eq!(sorted(&[&[1], &[2], &[0]]), [vec![0, 1, 2]]);
    }
}
