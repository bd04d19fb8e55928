% As loaded.py, of load_blco.m. Usage: octave loaded.m LOADERS models STEM | names NAME |
% refuse NAME
arguments = argv();
addpath(arguments{1});
names = arguments(3:end);
switch arguments{2}
    case 'models'
        [lambda, U] = load_blco(names{1});
        for format = {'text', 'npy', 'ktns', 'csv'}
            [lambda2, U2] = load_blco(names{1}, format{1});
            assert(isequal(lambda, lambda2) && isequal(U, U2) && numel(lambda) > 0 && numel(U) > 0);
        end
        arrays = [{lambda}, U];
    case 'names'
        [modes, of] = load_blco(names{1}, 'names');
        disp(strjoin(modes, ' '));
        cellfun(@(of_mode) disp(strjoin(of_mode, '|')), of);
        exit(0);
    otherwise
        try
            [a, b] = load_blco(names{:});
            disp('nothing was refused');
        catch problem
            disp(problem.message);
        end
        exit(1);
end
file = fopen('loaded.bin', 'w');
for k = 1:numel(arrays)
    fwrite(file, arrays{k}', 'double');
end
fclose(file);
