"""Members whose mean is multilinear, trained by closed-form sweeps instead of gradients.

    mean = c + sum over r of u^1_r u^2_r ... u^D_r + sum over modes d of e^d

The rows u and the row effects e have Gaussian posteriors and learned priors, as everywhere in
VAECP. Given the others, the posteriors of one mode have a closed form (variational Bayes), so a
sweep over the modes replaces hundreds of gradient steps, and nothing is compiled per size.

A row effect is a component whose rows are 1 in all modes but one. So a table of rank R has R + D
columns, and a trained member is a plain CP model of that width.
"""
