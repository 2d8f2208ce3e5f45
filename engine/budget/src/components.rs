//! Strongly connected components of a graph.

/// The strongly connected components of two nodes or more (Tarjan's algorithm, SIAM J. Comput.
/// 1972, with an explicit stack).
pub(crate) fn cyclic_components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNVISITED: usize = usize::MAX;
    let mut index = vec![UNVISITED; successors.len()];
    let mut low_link = vec![UNVISITED; successors.len()];
    let mut on_stack = vec![false; successors.len()];
    let (mut stack, mut components, mut count) = (Vec::new(), Vec::new(), 0);
    for root in 0..successors.len() {
        if index[root] != UNVISITED {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.last_mut() {
            let (node, at) = (*node, *edge);
            if at == 0 && index[node] == UNVISITED {
                (index[node], low_link[node]) = (count, count);
                count += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = successors[node].get(at) {
                *edge += 1;
                if index[to] == UNVISITED {
                    path.push((to, 0));
                } else if on_stack[to] {
                    low_link[node] = low_link[node].min(index[to]);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low_link[*before] = low_link[*before].min(low_link[node]);
            }
            if low_link[node] == index[node] {
                let start = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                let cycle = stack.split_off(start);
                cycle.iter().for_each(|node| on_stack[*node] = false);
                if cycle.len() > 1 {
                    components.push(cycle);
                }
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::cyclic_components;

    fn sorted(successors: &[&[usize]]) -> Vec<Vec<usize>> {
        let successors: Vec<Vec<usize>> = successors.iter().map(|to| to.to_vec()).collect();
        let mut components = cyclic_components(&successors);
        components.iter_mut().for_each(|cycle| cycle.sort_unstable());
        components.sort_unstable();
        components
    }

    #[test]
    fn a_graph_without_cycles_has_none() {
        assert!(sorted(&[&[1, 2], &[3], &[3], &[]]).is_empty());
        assert!(sorted(&[]).is_empty());
    }

    #[test]
    fn each_cycle_is_found_once_and_whole() {
        // 0 → 1 → 2 → 1, 2 → 3, 3 ↔ 4 → 5
        let components = sorted(&[&[1], &[2], &[1, 3], &[4], &[3, 5], &[]]);
        assert_eq!(components, [vec![1, 2], vec![3, 4]]);
        assert_eq!(sorted(&[&[1], &[2], &[0]]), [vec![0, 1, 2]]);
    }
}
